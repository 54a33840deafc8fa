/** A failure that the person at the terminal can act on. It is printed as one line, without a stack. */
export class LauncherError extends Error {}
