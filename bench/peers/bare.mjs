import { Piscina } from 'piscina';
import { SLOTS, WORKERS } from './processes.mjs';
import { perform } from './work.mjs';

/** What programs and modules cost alone: as many at a time as there are slots, in one process, with nobody between. */
export async function start() {
  const limit = WORKERS * SLOTS;
  const pool = new Piscina({ minThreads: limit, maxThreads: limit });
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
