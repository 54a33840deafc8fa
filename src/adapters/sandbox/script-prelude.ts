/** What an error says is shortened to this inside the interpreter: a text as long as its memory never gets out. */
export const MESSAGE_CHARS_MAX = 1_000;

/**
 * Runs inside the interpreter once, before the memory image is taken. It takes away clock and chance, gives arrays the
 * four methods that scripts written for a Java list expect, and answers the functions the engine calls. They hold
 * on to the built-ins they need, so a script that replaces `JSON.stringify` deceives only itself.
 */
export const SCRIPT_PRELUDE = `(() => {
  'use strict';
  const { parse, stringify } = JSON;
  const { construct, ownKeys } = Reflect;
  const [NativeDate, NativePromise, NativeError, text] = [Date, Promise, Error, String];
  const startOf = Function.prototype.call.bind(text.prototype.slice);
  const shorten = (value) => startOf(text(value), 0, ${MESSAGE_CHARS_MAX});
  const dateToText = NativeDate.prototype.toString;
  const scope = globalThis;
  let clockMs;
  let state;

  const now = () => {
    if (clockMs === undefined) throw new NativeError('a script that steers a workflow has no clock: pass the time in as input');
    return clockMs;
  };
  const construction = (target, args, newTarget) =>
    construct(target, args.length === 0 ? [now()] : args, newTarget === scope.Date ? target : newTarget);
  NativeDate.now = now;
  scope.Date = new Proxy(NativeDate, {
    construct: construction,
    apply: () => dateToText.call(new NativeDate(now())),
  });
  NativeDate.prototype.constructor = scope.Date;

  // What a collector has done so far is chance too.
  delete scope.WeakRef;
  delete scope.FinalizationRegistry;

  Math.random = () => {
    if (state === undefined) throw new NativeError('a script that steers a workflow has no random numbers: pass them in as input');
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };

  const listMethods = {
    get(index) { return this[index]; },
    size() { return this.length; },
    isEmpty() { return this.length === 0; },
    contains(value) { return this.includes(value); },
  };
  for (const name of ownKeys(listMethods)) {
    Object.defineProperty(Array.prototype, name, { value: listMethods[name], writable: true, configurable: true });
  }

  return {
    prepare(bindings, nowMs, seed) {
      scope.$ = parse(bindings);
      clockMs = nowMs;
      state = seed;
    },
    finish(value) {
      if (value instanceof NativePromise) throw new NativeError('the result is a promise; a script has to return its value itself');
      const json = stringify(value);
      return json === undefined ? 'null' : json;
    },
    describe(error) {
      try {
        if (error instanceof NativeError) return stringify([shorten(error.name), shorten(error.message)]);
        return stringify(['', shorten(typeof error === 'object' ? stringify(error) : error)]);
      } catch {
        return '["","an error that cannot be described"]';
      }
    },
  };
})()`;
