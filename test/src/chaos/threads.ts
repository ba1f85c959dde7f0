import { Worker } from 'node:worker_threads';
import type { Report } from './run.js';

export interface Outcome extends Report {
  readonly seed: string;
}

/**
 * Plays seeds on several threads.
 *
 * @param onOutcome called for each seed, in the order of completion
 */
export async function playAll(
  seeds: readonly string[],
  threads: number,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  const left = [...seeds].reverse();
  const count = Math.min(threads, seeds.length);
  await Promise.all(Array.from({ length: count }, () => playOnOne(left, onOutcome)));
}

function playOnOne(left: string[], onOutcome: (outcome: Outcome) => void): Promise<void> {
  const thread = new Worker(new URL('./thread.js', import.meta.url));
  return new Promise<void>((resolve, reject) => {
    const next = (): void => {
      const seed = left.pop();
      if (seed === undefined) resolve();
      else thread.postMessage(seed);
    };
    thread.on('message', (outcome: Outcome) => {
      onOutcome(outcome);
      next();
    });
    thread.on('error', reject);
    next();
  }).finally(() => thread.terminate());
}
