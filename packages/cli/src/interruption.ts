import type { Context } from './context.js';
import { InterruptedError } from './failure.js';

/**
 * Work that Ctrl-C cuts short: whatever it fails of then, the error says how far it had come. What is done
 * nevertheless is done.
 *
 * @param reached asked only then
 */
export async function untilInterrupted<T>(
  context: Pick<Context, 'interrupted'>,
  work: () => Promise<T>,
  reached: () => string,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!context.interrupted.aborted) throw error;
    throw new InterruptedError(reached());
  }
}
