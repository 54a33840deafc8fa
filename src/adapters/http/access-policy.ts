/**
 * Who may call without credentials: nobody, or, for `rondo dev` on its loopback address, the person at this machine, who is
 * its administrator.
 */
export type AccessPolicy = Readonly<{ mode: 'credentials' }> | Readonly<{ mode: 'local-administrator' }>;
