import { describe, expect, test } from 'vitest';
import { isGrant, isGranted } from '../../../src/application/access/scopes.ts';

describe('a grant covers', () => {
  test.each([
    ['queues:lease:bill', 'queues:lease:bill'],
    ['queues:lease:bill:*', 'queues:lease:bill:eu'],
    ['queues:lease:*', 'queues:lease:bill:eu'],
    ['executions:*', 'executions:start:order'],
    ['executions:*', 'executions:read'],
    ['admin', 'keys:write'],
    ['admin', 'executions:*'],
    ['platform:admin', 'platform:admin'],
  ])('%s: %s', (grant, scope) => {
    expect(isGranted([grant], scope)).toBe(true);
  });
});

describe('a grant does not cover', () => {
  test.each([
    ['queues:lease:bill', 'queues:lease:bill:eu'],
    ['queues:lease:bill', 'queues:lease:bil'],
    ['queues:lease:bill:*', 'queues:lease:bill'],
    ['queues:lease:bill:*', 'queues:lease:billing'],
    ['executions:start', 'executions:start:order'],
    ['executions:*', 'keys:read'],
    ['executions:read', 'executions:*'],
    ['admin', 'platform:admin'],
    ['admin', 'platform:*'],
    ['platform:admin', 'keys:read'],
    ['keys:*', 'admin'],
  ])('%s: %s', (grant, scope) => {
    expect(isGranted([grant], scope)).toBe(false);
  });

  test('anything, when there is none', () => {
    expect(isGranted([], 'keys:read')).toBe(false);
  });
});

describe('what could never cover anything is no grant', () => {
  test.each([
    '',
    '*',
    'executions',
    'execution:read',
    'executions:reed',
    'queues:lease:',
    'queues:*:x',
    ':',
    'toString:x',
  ])('"%s"', (text) => {
    expect(isGrant(text)).toBe(false);
  });

  test.each([
    'admin',
    'platform:admin',
    'executions:*',
    'queues:lease:*',
    'queues:lease:bill:eu',
    'executions:start:order',
  ])('but %s is one', (text) => {
    expect(isGrant(text)).toBe(true);
  });
});
