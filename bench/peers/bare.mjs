import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { SLOTS, WORKERS } from './processes.mjs';
import { perform } from './work.mjs';

/**
 * Measures programs and modules without a scheduler, in one process. It runs one program per slot at a time, and has a
 * thread pool as large as those of Goshawk's workers together (one thread per processor in each worker). A call has no
 * input and returns a number, in a warm thread in both systems. Piscina receives all calls at once; Goshawk receives
 * one job with as many tasks.
 */
export async function start() {
  const limit = WORKERS * SLOTS;
  const threads = WORKERS * availableParallelism();
  const pool = new Piscina({ minThreads: threads, maxThreads: threads });
  const runProgram = async (left, work) => {
    while (left.tasks-- > 0) await perform(work);
  };
  return {
    run: async (tasks, work) => {
      const { module: filename } = work;
      if (filename !== undefined)
        return Promise.all(Array.from({ length: tasks }, () => pool.run(undefined, { filename })));
      const left = { tasks };
      await Promise.all(Array.from({ length: limit }, () => runProgram(left, work)));
    },
    stop: () => pool.destroy(),
  };
}
