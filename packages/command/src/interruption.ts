import type { Context } from './context.js';
import { InterruptedError } from './failure.js';

export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Resolves when the parent of a process started with --with-parent has exited; otherwise never. */
export function whenOrphaned(withParent: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (!withParent) return;
    process.stdin.on('end', resolve).on('error', () => resolve());
    process.stdin.resume();
  });
}

/**
 * Runs work that Ctrl-C may interrupt. After an interruption, an error that reports the progress replaces any
 * other error.
 *
 * @param reached describes the progress; called only after an interruption
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
