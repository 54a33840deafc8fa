import type { Namespace } from '../../domain/kernel/brand.ts';
import { err } from '../../domain/kernel/result.ts';
import type { OutboundHttp } from '../../ports/outbound-http.ts';
import type { CircuitBreakers } from '../circuit-breakers.ts';

type Sent = Awaited<ReturnType<OutboundHttp['send']>>;

/** What speaks against the host, and not only against this request. */
const isHostsFault = (sent: Sent): boolean =>
  sent.ok ? sent.value.statusCode >= 500 : sent.error.code === 'CONNECTION_FAILED' || sent.error.code === 'TIMED_OUT';

/** The door as one namespace goes through it: a host that fails again and again is not called for a while. */
export const throughBreaker = (http: OutboundHttp, breakers: CircuitBreakers, namespace: Namespace): OutboundHttp => ({
  send: async (request, signal) => {
    const host = URL.parse(request.url)?.host;
    if (host === undefined) return http.send(request, signal);
    const target = { namespace, target: `http:${host}` };
    const answer = await breakers.through(target, () => http.send(request, signal), isHostsFault);
    if (answer.kind === 'called') return answer.value;
    const { retryAfterMs } = answer;
    return err({
      code: 'CIRCUIT_OPEN',
      message: `${host} has failed too often and is left alone for now.`,
      retryAfterMs,
    });
  },
});
