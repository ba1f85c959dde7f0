import { Random } from '@goshawk/core';
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
const WORKERS = 2;
const SEEDS = 2;

const GANG = 'a gang that never fits';
/** Ways in which a job cannot start now, although workers are idle. */
const BLOCKED: Readonly<Record<string, (bench: PolicyBench, job: number, need: Need) => void>> = {
  'too large': (bench, job, need) => bench.report(job, { ...need, demand: { cpu: 5 } }),
  'without its resource': (bench, job, need) => bench.report(job, { ...need, demand: { gpu: 1 } }),
  [GANG]: (bench, job, need) =>
    bench.report(job, { ...need, gang: true, tasks: 4 * WORKERS + 1, demand: { cpu: 1 } }),
  'declined everywhere': (bench, job, need) => {
    bench.report(job, { ...need, demand: { cpu: 1 } });
    bench.books.reconsider(
      bench.stage(job),
      bench.now,
      Array.from({ length: WORKERS }, (_, at) => bench.worker(at)),
    );
  },
};

/** All but Hawk, which places named tasks. Those with a solver also run without its answers. */
const central = Object.entries({ ...CENTRAL_POLICIES, ...PAPER_POLICIES }).filter(
  ([name]) => name !== 'hawk',
);
const policies = central.flatMap(([name, module]) => {
  const without = { name, gangs: module.gangs !== undefined, solve: undefined as SolveProgram | undefined };
  return module.solves === true ? [without, { ...without, solve }] : [without];
});

/** Jobs beyond any window that a policy looks at. */
test.each(
  policies.flatMap((policy) =>
    Object.keys(BLOCKED)
      .filter((why) => policy.gangs || why !== GANG)
      .flatMap((why) => [1, 150, 450].map((count) => ({ ...policy, why, count }))),
  ),
)('under $name, $count jobs that are $why hold back none that fits', ({ name, solve, why, count }) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = Random.seeded(`blocked ${seed}`);
    const draw = <T>(...from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
    const bench = new PolicyBench(name, WORKERS, { slots: 4, capacity: { cpu: 4 }, solve });
    const need = (): Need => {
      const estimateMs = draw(100, 900, CYCLE_MS, 10 * CYCLE_MS);
      return { estimateMs, long: estimateMs > 1_000, ageMs: draw(0, CYCLE_MS), user: draw('ann', 'ben') };
    };
    for (let job = 1; job <= count; job++) BLOCKED[why]!(bench, job, need());
    const good = count + 1;
    bench.now += draw(0, CYCLE_MS);
    bench.need(good, { ...need(), demand: { cpu: 1 } });
    let plans = 0;
    for (; plans < PLANS_MAX && bench.count(good) === 0; plans++) {
      bench.now += CYCLE_MS;
      bench.settle();
    }
    expect({ seed, running: bench.count(good) }).toEqual({ seed, running: 1 });
    expect(bench.books.job(OWNER, good)).toBeDefined();
  }
});
