import type { Context } from './context.js';
import { InterruptedError } from './failure.js';

/**
 * Work that Ctrl-C cuts short: whatever it fails of then, the error says how far it had come.
 *
 * @param reached asked only then
 */
export async function untilInterrupted<T>(
  context: Pick<Context, 'interrupted'>,
  work: () => Promise<T>,
  reached: () => string,
): Promise<T> {
  try {
    const result = await work();
    context.interrupted.throwIfAborted();
    return result;
  } catch (error) {
    if (!context.interrupted.aborted) throw error;
    throw new InterruptedError(reached());
  }
}
