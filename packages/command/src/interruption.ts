import type { Context } from './context.js';
import { InterruptedError } from './failure.js';

export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Resolves when the parent of a process that was started with --with-parent has ended; otherwise never. */
export function whenOrphaned(withParent: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (!withParent) return;
    process.stdin.on('end', resolve).on('error', () => resolve());
    process.stdin.resume();
  });
}

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
