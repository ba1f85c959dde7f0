import type { TestDaemons } from '@goshawk/cli/testing';

/** Starts workers, and restarts each when it ends. */
export function keepUp(daemons: TestDaemons, names: readonly string[], options: readonly string[] = []) {
  let lost = 0;
  let isOver = false;
  const workers = names.map(async (name) => {
    while (!isOver) {
      const one = await daemons.startWorker(name, options);
      if (isOver) await one.kill();
      await one.ended;
      if (!isOver) lost++;
    }
  });
  return {
    /** Number of ended workers. */
    lost: () => lost,
    /** Ends all daemons. */
    async stop(): Promise<void> {
      isOver = true;
      for (const daemon of daemons.all) await daemon.kill();
      await Promise.all(workers);
    },
  };
}
