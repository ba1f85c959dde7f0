import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { SLOTS, WORKERS } from './processes.mjs';
import { perform } from './work.mjs';

/**
 * What programs and modules cost alone, in one process with nobody between: as many programs at a time as there are slots, and a pool
 * of as many threads as Goshawk's workers have together, which is one for each processor in each. A call takes nothing and returns a
 * number, in a warm thread at both; all calls are handed to Piscina at once, and to Goshawk as one job of as many tasks.
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
