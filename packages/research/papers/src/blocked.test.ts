import { parseUsers, Random } from '@goshawk/core';
import { CENTRAL_POLICIES, type SolveProgram } from '@goshawk/policies';
import { type Need, OWNER, PolicyBench } from '@goshawk/policies/testing';
import { expect, test } from 'vitest';
import { addPapers, PAPER_POLICIES } from './index.js';
import { loadSolver } from './solver/index.js';

addPapers();
const { solve } = await loadSolver();

/** Longer than the interval of every policy that plans at intervals. */
const CYCLE_MS = 60_000;
/** Plans after which a task for which there is room has started under every policy. */
const PLANS_MAX = 8;
const SEEDS = 12;

const CPU: Need = { demand: { cpu: 1 } };
/** Ways in which a job cannot start, although CPUs are idle. */
const BLOCKED: Readonly<Record<string, Need>> = {
  'too large': { demand: { cpu: 9 } },
  'without its memory': { demand: { cpu: 1, memory: 101 } },
  'without its GPUs': { demand: { cpu: 1, gpu: 2 } },
  'without its resource': { demand: { cpu: 0.1, license: 1 } },
  'without its attribute': { ...CPU, requires: { zone: 'z' } },
  'of a user at its limit': { ...CPU, user: 'ben' },
  'declined everywhere': CPU,
  'a gang that never fits': { ...CPU, gang: true, tasks: 60 },
};
const WAYS = Object.keys(BLOCKED);

/** All but Hawk, which places named tasks. Those with a solver also run without its answers. */
const central = Object.entries({ ...CENTRAL_POLICIES, ...PAPER_POLICIES }).filter(
  ([name]) => name !== 'hawk',
);
const policies = central.flatMap(([name, module]) => {
  const without = { name, gangs: module.gangs !== undefined, solve: undefined as SolveProgram | undefined };
  return module.solves === true ? [without, { ...without, solve }] : [without];
});
/** Policies that keep idle CPUs of a worker with running tasks for others by design. */
const KEEPS_ROOM = ['vqs', 'eagle'];

/** Jobs beyond any window that a policy looks at. */
test.each(policies.flatMap((policy) => [1, 40, 450].map((count) => ({ ...policy, count }))))(
  'under $name, $count jobs that cannot start hold back none that fits',
  ({ name, gangs, solve, count }) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = Random.seeded(`blocked ${seed}`);
      const draw = <T>(...from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
      const bench = new PolicyBench(name, 0, { solve });
      for (let at = draw(1, 2, 3); at >= 0; at--) {
        const cpu = draw(1, 2, 4, 8);
        bench.join(at, 16 * cpu, { cpu, memory: 100, ...(draw(true, false) ? { gpu: 1 } : {}) });
      }
      const workers = [...bench.books.workers];
      bench.books.grant(parseUsers('{"ben": {"running": 0}}', 'users.json'));
      bench.settle();
      let job = 0;
      if (!KEEPS_ROOM.includes(name))
        for (let busy = draw(0, 1, 2); busy > 0; busy--)
          bench.need(++job, { ...CPU, estimateMs: 10 * CYCLE_MS, long: true });
      // One way fills windows that several do not.
      const ways = draw(true, false) ? WAYS : [draw(...WAYS)];
      for (let blocked = 0; blocked < count; blocked++) {
        const way = draw(...ways);
        if (BLOCKED[way]!.gang === true && !gangs) continue;
        const estimateMs = draw(100, 900, CYCLE_MS, 10 * CYCLE_MS);
        bench.report(++job, {
          ...{ estimateMs, long: estimateMs > 1_000, ageMs: draw(0, CYCLE_MS), mayLend: draw(true, false) },
          ...{ user: draw('ann', 'cat'), tasks: draw(1, 3), priority: draw('high', 'normal', 'low') },
          ...(draw(true, false) ? { deadlineAt: bench.now + draw(1_000, 20 * CYCLE_MS) } : {}),
          ...BLOCKED[way],
        });
        if (way === 'declined everywhere') bench.books.reconsider(bench.stage(job), bench.now, workers);
      }
      bench.now += draw(0, CYCLE_MS);
      if (!workers.some(({ free }) => free[0]! >= 1)) continue;
      const estimateMs = draw(100, 900, CYCLE_MS);
      bench.need(++job, { ...CPU, user: draw('ann', 'cat'), estimateMs, long: estimateMs > 1_000 });
      for (let plans = 0; plans < PLANS_MAX && bench.count(job) === 0; plans++) {
        bench.now += CYCLE_MS;
        bench.settle();
      }
      expect({ seed, ways, running: bench.count(job) }).toEqual({ seed, ways, running: 1 });
      expect(bench.books.job(OWNER, job)).toBeDefined();
    }
  },
);
