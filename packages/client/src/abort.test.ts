import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { abortable, onAbort, pause } from './abort.js';

describe('a signal with many waiters', () => {
  test('has one listener, and none without waiters', () => {
    const { signal } = new AbortController();
    const ignores = Array.from({ length: 100 }, () => onAbort(signal, () => {}));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    for (const ignore of [...ignores, ...ignores]) ignore();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('calls each waiter once, except those that have stopped', () => {
    const abort = new AbortController();
    const called: string[] = [];
    const ignoreLast = { call: (): void => {} };
    onAbort(abort.signal, (reason) => {
      called.push(`first: ${String(reason)}`);
      ignoreLast.call();
    });
    onAbort(abort.signal, () => called.push('gone'))();
    onAbort(abort.signal, () => called.push('second'));
    ignoreLast.call = onAbort(abort.signal, () => called.push('last'));
    abort.abort('enough');
    expect(called).toEqual(['first: enough', 'second']);
  });
});

test('a wait ends with the signal or with its promise', async () => {
  const abort = new AbortController();
  expect(await abortable(Promise.resolve(1), abort.signal)).toBe(1);
  const waiting = abortable(new Promise(() => {}), abort.signal);
  const pausing = pause(60_000, abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(pausing).rejects.toThrow('enough');
  await expect(abortable(new Promise(() => {}), abort.signal)).rejects.toThrow('enough');
  await expect(pause(60_000, abort.signal)).rejects.toThrow('enough');
  expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
});
