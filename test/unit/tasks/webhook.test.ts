import { describe, expect, it } from 'vitest';
import { callbackSecrets, MATCHES_MAX, matchesPayload, webhookOf } from '../../../src/domain/tasks/webhook.ts';
import { fork, join, simple, webhook } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

describe('WAIT_FOR_WEBHOOK', () => {
  it('shows the path of its callback to the steps beside it, and its task id is what the token is for', () => {
    const tell = simple('tell', { inputParameters: { callback: '${w.input.callbackPath}' } });
    const run = new Run({
      tasks: [
        fork('f', [
          [webhook('w'), simple('x')],
          [tell, simple('y')],
        ]),
        join('j'),
      ],
    });
    const path = `/v1/hooks/token-of-${run.task('w').taskId}`;
    expect([run.task('w').input, run.task('tell').input]).toEqual([{ callbackPath: path }, { callback: path }]);
    expect(run.completeTask('w', { paid: true }, { by: 'webhook' })).toBeUndefined();
    expect(run.seen('w').output).toEqual({ paid: true });
  });

  it('has another token at each attempt', () => {
    const run = new Run({ tasks: [webhook('w', {}, { retryCount: 1 })] });
    const first = run.task('w').input;
    run.completeTask('w', {}, { status: 'FAILED' });
    expect(run.task('w').input).not.toEqual(first);
  });

  it('is no matter for signals', () => {
    const run = new Run({ tasks: [webhook('w')] });
    expect([run.signal('w')?.code, run.signal(undefined)?.code]).toEqual(['NOT_FOUND', 'INVALID_STATE']);
  });

  it.each([
    ['an expiry', {}, { expiresIn: '1 minute' }, 60_000],
    ['an expiry below the total deadline', { totalTimeout: 90 }, { expiresIn: 60 }, 60_000],
    ['a total deadline below the expiry', { totalTimeout: 30 }, { expiresIn: 60 }, 30_000],
    ['an expiry where deadlines only alert', { timeoutPolicy: 'ALERT_ONLY' }, { expiresIn: 60 }, 60_000],
  ])('with %s is timed out then, so that nothing is behind the door', (_, fields, input, ms) => {
    const run = new Run({ tasks: [webhook('w', input, fields)] });
    run.advance(ms - 1);
    expect(run.open()).toEqual(['w']);
    run.advance(1);
    expect([run.status, run.seen('w').status]).toEqual(['TIMED_OUT', 'TIMED_OUT']);
  });

  it('with matches has no callback, and asks for what they say', () => {
    const run = new Run(
      { tasks: [webhook('w', { matches: { '$.id': '${workflow.input.id}' } })] },
      { input: { id: 7 } },
    );
    expect(run.task('w').input).toEqual({ matches: { '$.id': 7 } });
  });

  it.each([
    [{ secret: '' }, 'WAIT_FOR_WEBHOOK takes a secret that is not empty, or at most 2 of them.'],
    [{ secret: ['a', 'b', 'c'] }, 'WAIT_FOR_WEBHOOK takes a secret that is not empty, or at most 2 of them.'],
    [{ secret: 7 }, 'WAIT_FOR_WEBHOOK takes a secret that is not empty, or at most 2 of them.'],
    [{ expiresIn: 'soon' }, 'WAIT_FOR_WEBHOOK cannot read expiresIn "soon".'],
    [{ expiresIn: 0 }, 'WAIT_FOR_WEBHOOK cannot read expiresIn 0.'],
    [{ matches: {} }, 'WAIT_FOR_WEBHOOK takes matches as an object of JSONPath to value.'],
    [{ matches: 'x' }, 'WAIT_FOR_WEBHOOK takes matches as an object of JSONPath to value.'],
    [{ matches: { '$[': 1 } }, 'WAIT_FOR_WEBHOOK cannot read the path "$[".'],
    [{ expiresIn: [60] }, 'WAIT_FOR_WEBHOOK cannot read expiresIn [60].'],
    [
      { matches: Object.fromEntries(Array.from({ length: MATCHES_MAX + 1 }, (_, n) => [`$.a${n}`, n])) },
      'WAIT_FOR_WEBHOOK takes at most 50 matches.',
    ],
  ])('with %j is refused at once, and nobody can end it', (input, reason) => {
    const run = new Run({ tasks: [webhook('w', input)] });
    expect([run.status, run.seen('w').reason]).toEqual(['FAILED', reason]);
  });

  it('is canceled with the run, paused with it, and has another callback after a retry', () => {
    const run = new Run({ tasks: [webhook('w'), simple('b')] });
    const first = run.task('w').input;
    run.pause().terminate();
    expect(run.seen('w').status).toBe('CANCELED');
    expect(run.retry().task('w').input).not.toEqual(first);
  });
});

describe('what matches', () => {
  it.each([
    [{ '$.a': 1 }, { a: 1, b: 2 }, true],
    [{ "$['a']['b']": 'x' }, { a: { b: 'x' } }, true],
    [{ 'a.b': { c: [1, { d: null }] } }, { a: { b: { c: [1, { d: null }] } } }, true],
    [{ '$.a': 1, '$.b': 2 }, { a: 1, b: 3 }, false],
    [{ '$.a': 1 }, { a: '1' }, false],
    [{ '$.a': null }, {}, true],
    [{ '$.a': 1 }, 'text', false],
    [{}, { a: 1 }, true],
    [{ '$[': 1 }, { a: 1 }, false],
  ])('%j over %j: %s', (matches, payload, is) => {
    expect(matchesPayload({ matches }, payload)).toBe(is);
  });

  it('is nothing where a task asks for nothing', () => {
    expect([matchesPayload({}, { a: 1 }), matchesPayload('no object', { a: 1 })]).toEqual([false, false]);
  });

  it('names its webhook or takes any', () => {
    expect([webhookOf({ webhook: 'shop' }), webhookOf({ webhook: '' }), webhookOf({})]).toEqual([
      'shop',
      undefined,
      undefined,
    ]);
  });

  it('has secrets that are texts, and refuses what is none', () => {
    expect([callbackSecrets({}), callbackSecrets({ secret: 'a' }), callbackSecrets({ secret: ['a', 'b'] })]).toEqual([
      [],
      ['a'],
      ['a', 'b'],
    ]);
    expect([callbackSecrets({ secret: [] }), callbackSecrets({ secret: ['a', ''] })]).toEqual([undefined, undefined]);
    expect([callbackSecrets('no object'), webhookOf('no object')]).toEqual([[], undefined]);
  });
});
