import { setTimeout as pause } from 'node:timers/promises';
import { type Millis, UnreachableError } from '@goshawk/core';
import type { Context } from './context.js';

/**
 * Looks again and again until Ctrl-C. What does not answer may come back: a problem is printed once, and its end.
 *
 * @throws what a look throws that will not go away by itself
 */
export async function keepLooking(
  { interrupted, note }: Context,
  everyMs: Millis,
  look: () => Promise<void>,
): Promise<void> {
  let problem = '';
  while (!interrupted.aborted) {
    const now = await problemOf(look, interrupted);
    if (now !== problem) note(now === '' ? 'all is well again' : now);
    problem = now;
    await pause(everyMs, undefined, { signal: interrupted }).catch(() => {});
  }
}

/** What kept one look from its end, in a line. */
async function problemOf(look: () => Promise<void>, signal: AbortSignal): Promise<string> {
  try {
    await look();
  } catch (error) {
    if (signal.aborted) return '';
    if (!(error instanceof UnreachableError)) throw error;
    return error.hint === '' ? error.message : `${error.message}; ${error.hint}`;
  }
  return '';
}
