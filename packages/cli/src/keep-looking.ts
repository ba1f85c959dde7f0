import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '@goshawk/command';
import { type Millis, UnreachableError } from '@goshawk/core';

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
    let now = '';
    try {
      await look();
    } catch (error) {
      // An error after Ctrl-C is no problem of the cluster.
      if (interrupted.aborted) return;
      if (!(error instanceof UnreachableError)) throw error;
      now = error.hint === '' ? error.message : `${error.message}; ${error.hint}`;
    }
    if (now !== problem) note(now === '' ? 'the cluster responds again' : now);
    problem = now;
    await pause(everyMs, undefined, { signal: interrupted }).catch(() => {});
  }
}
