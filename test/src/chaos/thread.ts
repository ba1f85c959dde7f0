import { parentPort } from 'node:worker_threads';
import { drawPlan } from './draw-plan.js';
import { play } from './run.js';
import type { Outcome } from './threads.js';

/** A thread that plays the seeds that it receives. */
parentPort!.on('message', (seed: string) => {
  void play(drawPlan(seed)).then(({ complaints, counts, executions, orders, ms }) => {
    const outcome: Outcome = { seed, complaints, counts, executions, orders, ms };
    parentPort!.postMessage(outcome);
  });
});
