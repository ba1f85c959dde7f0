import { setImmediate } from 'node:timers/promises';
import { type Progress, startProgress, untilInterrupted } from '@goshawk/cli';
import { counted } from '@goshawk/core';
import type { Making } from './making.js';

/** Does one of the steps, unless the command has been interrupted before. */
type Step = <T>(make: () => T | Promise<T>) => Promise<T>;

/**
 * Work of so many steps, whose progress is shown from the first one on.
 *
 * @param what `['run', 'made']`: `2 of 8 runs were made` is said of work that was cut short
 * @throws InterruptedError
 */
export function inSteps<T>(
  { context, chosen, lost }: Making,
  total: number,
  [noun, done]: readonly [noun: string, done: string],
  work: (step: Step) => Promise<T>,
): Promise<T> {
  let steps = 0;
  let progress: Progress | undefined;
  const step: Step = async (make) => {
    progress ??= startProgress(context, chosen.figure.id, total);
    await setImmediate();
    context.interrupted.throwIfAborted();
    const made = await make();
    progress.update(++steps);
    return made;
  };
  const shown = () => work(step).finally(() => progress?.stop());
  return untilInterrupted(context, shown, () => `${steps} of ${counted(total, noun)} were ${done}; ${lost}`);
}
