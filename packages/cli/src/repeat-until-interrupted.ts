import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '@goshawk/command';
import { type Millis, UnreachableError } from '@goshawk/core';

/** Why a process is not ready until its first check. */
export const NOT_CHECKED = 'it has not reached the cluster yet';

/**
 * Repeats a check until Ctrl-C. An unreachable cluster may come back, so a problem prints one line when it begins and
 * one when it is over.
 *
 * @param notReady contains the problem while there is one
 * @throws errors of a check that are permanent
 */
export async function repeatUntilInterrupted(
  { interrupted, note }: Context,
  everyMs: Millis,
  poll: () => Promise<void>,
  notReady: string[] = [],
): Promise<void> {
  let problem = '';
  while (!interrupted.aborted) {
    let now = '';
    try {
      await poll();
    } catch (error) {
      // An error after Ctrl-C is not a problem of the cluster.
      if (interrupted.aborted) return;
      if (!(error instanceof UnreachableError)) throw error;
      now = error.hint === '' ? error.message : `${error.message}; ${error.hint}`;
    }
    if (now !== problem) note(now === '' ? 'the cluster responds again' : now);
    problem = now;
    notReady.splice(0, 1, ...(now === '' ? [] : [now]));
    await pause(everyMs, undefined, { signal: interrupted }).catch(() => {});
  }
}
