import { ok } from '../../../domain/kernel/result.ts';
import { json, publicRoute, type Route } from '../route.ts';
import { type LiveAnswerBody, liveAnswer, type ReadyAnswerBody, readyAnswer } from '../schemas/health.ts';

const liveRoute = (path: string): Route =>
  publicRoute({
    method: 'GET',
    path,
    summary: 'Whether the process answers; never asks the database.',
    replies: { 200: liveAnswer },
    handle: async ({ version }) => ok(json<LiveAnswerBody>(200, { status: 'ok', version })),
  });

const ready = publicRoute({
  method: 'GET',
  path: '/v1/health/ready',
  summary: 'Whether the process can serve: database reachable, schema at its revision, commits durable.',
  replies: { 200: readyAnswer, 503: readyAnswer },
  handle: async ({ useCases }) => {
    const problems = [...(await useCases.health.problems())];
    const isReady = problems.length === 0;
    const answer: ReadyAnswerBody = { status: isReady ? 'ready' : 'unready', problems };
    return ok(json(isReady ? 200 : 503, answer));
  },
});

export const healthRoutes: readonly Route[] = [liveRoute('/v1/health/live'), liveRoute('/health'), ready];
