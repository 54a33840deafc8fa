const DOMAIN_SIGN = ':';
const NO_DOMAIN = 'NO_DOMAIN';

/** The queue of a task type in a domain. */
export const queueOf = (taskType: string, domain: string | undefined): string =>
  domain === undefined || domain === NO_DOMAIN ? taskType : `${domain}${DOMAIN_SIGN}${taskType}`;

/** Worker and domain apart; the name of a task may hold the sign too, so this is for showing only. */
export const domainOf = (queue: string): Readonly<{ taskType: string; domain?: string }> => {
  const sign = queue.indexOf(DOMAIN_SIGN);
  return sign < 0 ? { taskType: queue } : { taskType: queue.slice(sign + 1), domain: queue.slice(0, sign) };
};
