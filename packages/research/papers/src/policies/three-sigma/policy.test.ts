import { type Address, InputError, type Millis, ONE_CPU, PER_CPU, type Vector } from '@goshawk/core';
import type {
  BookedStage,
  BookedWorker,
  CentralPolicy,
  JobFacts,
  Program,
  ProgramSolution,
} from '@goshawk/policies';
import { BookedDraft, ClusterBooks, checkBooks } from '@goshawk/policies';
import { describe, expect, test } from 'vitest';
import { THREE_SIGMA_POLICIES } from './policies.js';
import { gridOf, type ThreeSigma } from './policy.js';
import { THREE_SIGMA_OPTIONS, type ThreeSigmaOptions } from './settings.js';

const OWNER = 1 as Address;
const CYCLE = 1_000;

/** Tries all assignments of 0 and 1; for programs with few variables. */
function solve({ columns, cost, rows, starts, indices, values, rowUpper }: Program): ProgramSolution {
  let best = new Float64Array(columns);
  let objective = 0;
  for (let mask = 1; mask < 2 ** columns; mask++) {
    const x = Float64Array.from({ length: columns }, (_, column) => (mask >> column) & 1);
    const worth = x.reduce((sum, each, column) => sum + each * cost[column]!, 0);
    if (worth <= objective) continue;
    let fits = true;
    for (let row = 0; row < rows && fits; row++) {
      let sum = 0;
      for (let at = starts[row]!; at < starts[row + 1]!; at++) sum += values[at]! * x[indices[at]!]!;
      fits = sum <= rowUpper[row]! + 1e-9;
    }
    if (fits) [best, objective] = [x, worth];
  }
  return { values: best, objective, bound: objective };
}

class Bench {
  readonly books = new ClusterBooks();
  readonly policy: CentralPolicy;
  readonly #hasSolver: boolean;
  /** Whether preempted tasks keep running. */
  ignoresPreemption = false;
  #solves = 0;
  #jobs = 0;
  #workers = 0;

  constructor(
    name: keyof typeof THREE_SIGMA_POLICIES,
    {
      racks,
      solver = true,
      options: more = {},
    }: { racks: readonly string[]; solver?: boolean; options?: Partial<ThreeSigmaOptions> },
  ) {
    const defaults = Object.entries(THREE_SIGMA_OPTIONS).map(([option, { default: value }]) => [
      option,
      value,
    ]);
    const options = {
      ...Object.fromEntries(defaults),
      cycleMs: CYCLE,
      startGrid: '0,5',
      ...more,
    } as ThreeSigmaOptions;
    this.policy = THREE_SIGMA_POLICIES[name].make(options, {
      cutoffMs: 0,
      sizesAreGiven: true,
      reserve: 'auto',
      random: () => 0,
    });
    this.#hasSolver = solver;
    for (const rack of racks) this.worker(rack);
  }

  worker(rack: string, capacity: Vector = ONE_CPU): BookedWorker {
    const worker = this.books.addWorker((10 + this.#workers++) as Address, capacity, { rack });
    this.books.setOpen(worker, true);
    return worker;
  }

  job(
    tasks: number,
    estimateMs: Millis,
    now: Millis,
    facts: Partial<JobFacts> = {},
    demand: Vector = ONE_CPU,
  ): BookedStage {
    const job = this.books.declare(OWNER, this.#jobs++, {
      arrivedAt: now,
      tasks,
      isDeclared: true,
      ...facts,
    });
    const stage = this.books.stage(job, 0, { demand, tasks, estimateMs });
    this.books.setWaiting(stage, tasks, now);
    return stage;
  }

  /** Plans until nothing changes; preempted tasks end immediately. */
  turn(now: Millis): BookedDraft[] {
    const drafts: BookedDraft[] = [];
    do {
      this.policy.update(this.books.takeChanges(), now);
      const draft = new BookedDraft(this.books, this.#solves, now);
      this.policy.plan(this.books, draft, now);
      drafts.push(draft);
      for (const run of this.ignoresPreemption ? [] : draft.preempted) {
        this.books.end(run, 'preempted', now);
        this.books.setWaiting(run.stage, run.stage.waiting + 1, now);
      }
      if (draft.problem === undefined) continue;
      const { id, problem } = draft.problem;
      this.#solves = id + 1;
      if (!this.#hasSolver) continue;
      const solution = solve(problem.model as Program);
      this.books.solved({ kind: 'solved', id, answer: { kind: 'solution', version: 0, solution } });
    } while (this.books.hasChanges);
    checkBooks(this.books);
    return drafts;
  }
}

/** Demands of one slot and of a resource of which one worker has enough for one task. */
const SCARCE: readonly (readonly [what: string, demand: Vector])[] = [
  ['a GPU', [1, PER_CPU, 1_000]],
  ['a resource and no CPU', [1, 0, 1_000]],
  ['two CPUs', [1, 2 * PER_CPU]],
];

describe.each(SCARCE)('jobs that wait for %s leave no other resource idle', (_, demand) => {
  test.each([
    ['it is in use', true, 8],
    ['it is in use', true, 40],
    ['no worker has it any more', false, 40],
    ['no worker has it any more', false, 400],
  ])('while %s (%s) and %i wait', (_why, isThere, count) => {
    // The plan is the greedy one, because the test's solver tries all combinations.
    const bench = new Bench('3sigma-sched', { racks: ['r1', 'r1', 'r1'], solver: false });
    const large = bench.worker('r2', [3, 2 * PER_CPU, 1_000]);
    const first = bench.job(1, 40_000, 0, {}, demand);
    for (let now = 0; first.running === 0 && now < 10_000; now += CYCLE) bench.turn(now);
    expect(first.running).toBe(1);
    if (!isThere) bench.books.setOpen(large, false);
    for (let job = 0; job < count; job++) bench.job(1 + (job % 3), 1_000, 11_000 + job, {}, demand);
    const other = bench.job(2, 1_000, 12_000);
    for (let now = 12_000; now <= 20_000; now += CYCLE) bench.turn(now);
    expect(other.waiting).toBe(0);
  });
});

const RACKS = ['r1', 'r1', 'r2', 'r2'];

test('a gang that is being killed has no missing part, and the request is repeated while it runs', () => {
  const bench = new Bench('3sigma-sched', { racks: ['r1', 'r1', 'r1'] });
  const victim = bench.job(2, 60_000, 0);
  bench.turn(0);
  bench.job(3, 1_000, 2_000, { deadlineAt: 6_000 });
  bench.ignoresPreemption = true;
  expect(bench.turn(2_000).flatMap(({ preempted }) => [...preempted])).toHaveLength(2);
  const [first, second] = [...victim.job.runs];
  bench.books.end(first!, 'preempted', 2_500);
  bench.books.setWaiting(victim, 1, 2_500);
  const drafts = [2_500, 3_000].flatMap((now) => bench.turn(now));
  expect(drafts.flatMap(({ started }) => started)).toEqual([]);
  expect(drafts.flatMap(({ preempted }) => [...preempted])).toEqual([second]);
});

test('a gang starts as a whole, on workers that it prefers', () => {
  const bench = new Bench('3sigma-sched', { racks: RACKS });
  const gang = bench.job(2, 10_000, 0, { prefers: { rack: 'r2' }, deadlineAt: 60_000 });
  bench.turn(0);
  expect([...gang.job.runs].map(({ worker }) => worker.attributes.rack)).toEqual(['r2', 'r2']);
});

test('a gang that does not fit waits, and why reports its planned start and the chance to meet its deadline', () => {
  const bench = new Bench('3sigma-sched', { racks: RACKS });
  bench.job(3, 4_000, 0);
  bench.turn(0);
  const gang = bench.job(2, 10_000, 1_000, { deadlineAt: 30_000 });
  bench.turn(1_000);
  expect([gang.running, gang.waiting]).toEqual([0, 2]);
  expect(bench.policy.explain!(gang, bench.books, 1_000)!.sentence).toBe(
    'It is planned to start in about 5 s, and meets its deadline with a probability of 100%.',
  );
});

test.each([
  ['bestEffort', 'it is best effort', [0, 2]],
  ['abandon', 'it fails', [0, 0]],
] as const)(
  'a gang that can no longer meet its deadline waits for it although slots are free, with that reason: %s',
  (afterDeadline, then, runs) => {
    const bench = new Bench('3sigma-sched', { racks: RACKS, options: { afterDeadline } });
    const gang = bench.job(2, 10_000, 0, { deadlineAt: 12_000 });
    bench.turn(5_000);
    expect(bench.policy.explain!(gang, bench.books, 5_000)!.sentence).toBe(
      `Judging by its known run times, it cannot meet its deadline, so it gets no resources; after the deadline ${then}.`,
    );
    const running = [gang.running];
    bench.turn(35_000);
    expect([...running, gang.running]).toEqual(runs);
  },
);

test('why reports the planned place of a gang that waits for preferred workers', () => {
  const bench = new Bench('3sigma-sched', { racks: RACKS });
  bench.job(4, 4_000, 0);
  bench.turn(0);
  const [picky, any] = [{ rack: 'r2' }, {}].map((prefers) =>
    bench.job(2, 10_000, 1_000, { prefers, deadlineAt: 30_000 }),
  );
  bench.turn(1_000);
  expect([picky, any].map((gang) => gang!.job.expected?.where)).toEqual(['rack=r2', undefined]);
});

describe.each(['3sigma-sched', 'prio'] as const)('%s', (name) => {
  test('a best-effort job is killed as a whole for a deadline that would be missed, and waits again', () => {
    const bench = new Bench(name, { racks: RACKS });
    const bestEffort = bench.job(3, 60_000, 0);
    bench.turn(0);
    expect(bestEffort.running).toBe(3);
    const urgent = bench.job(2, 10_000, 1_000, { deadlineAt: 12_000 });
    bench.turn(1_000);
    expect([urgent.running, bestEffort.running, bestEffort.waiting]).toEqual([2, 0, 3]);
  });

  test('tasks lost with a worker start immediately, wherever there is room', () => {
    const bench = new Bench(name, { racks: RACKS });
    const gang = bench.job(2, 10_000, 0, { prefers: { rack: 'r1' }, deadlineAt: 12_000 });
    bench.turn(0);
    const [run] = gang.job.runs;
    bench.books.removeWorker(run!.worker, 3_000);
    bench.books.setWaiting(gang, 1, 3_000);
    bench.turn(3_000);
    expect([gang.running, gang.waiting]).toEqual([2, 0]);
  });
});

test('without an answer the greedy plan starts after a cycle, and is counted', () => {
  const bench = new Bench('3sigma-sched', { racks: RACKS, solver: false });
  const gang = bench.job(2, 10_000, 0);
  const drafts = bench.turn(0);
  expect(gang.running).toBe(0);
  expect(drafts.at(-1)!.againAt).toBe(CYCLE);
  bench.turn(CYCLE);
  expect(gang.running).toBe(2);
  expect((bench.policy as ThreeSigma).counters.greedy).toBe(1);
});

test('a late answer is refused', () => {
  const bench = new Bench('3sigma-sched', { racks: RACKS, solver: false });
  bench.job(2, 10_000, 0);
  const [draft] = bench.turn(0);
  bench.turn(CYCLE);
  const solution = solve(draft!.problem!.problem.model as Program);
  const answer = { kind: 'solution' as const, version: 0, solution };
  bench.books.solved({ kind: 'solved', id: draft!.problem!.id, answer });
  bench.turn(CYCLE + 1);
  expect((bench.policy as ThreeSigma).counters.stale).toBe(1);
});

test('a cluster without workers plans nothing', () => {
  const bench = new Bench('3sigma-sched', { racks: [] });
  bench.job(2, 10_000, 0);
  bench.turn(0);
  expect((bench.policy as ThreeSigma).counters.cycles).toBe(0);
});

test.each(['', '5,10', '0,10,10', '0,x', '0,Infinity'])('"%s" is not a grid', (text) => {
  expect(() => gridOf(text)).toThrow(InputError);
});
