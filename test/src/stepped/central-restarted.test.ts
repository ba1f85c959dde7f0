import {
  DEFAULT_POLICY,
  type JobInput,
  LIVE_TIMINGS,
  type Millis,
  type PolicySettings,
  parseJobSpec,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import {
  addCustomPolicy,
  type ClusterView,
  type PolicyModule,
  policyModule,
  presetNamed,
} from '@goshawk/policies';
import { expect, test } from 'vitest';
import { Stage } from '../transcripts/stage.js';

addPapers();

const WORKERS = ['w1', 'w2', 'w3', 'w4'];
const SLOTS = 2;
/** Time until all processes have registered with a new central, in ms. */
const JOINING_MS = 2 * LIVE_TIMINGS.leaseMs;
/** Earliest end of a task, in ms. */
const SLEEP_MS = 60_000;

/** Central's view of the cluster, as its policy sees it. */
interface Books {
  readonly capacity: readonly number[];
  readonly workers: readonly object[];
  readonly jobs: readonly object[];
}

/** The policy of this name, with an observer of its state. */
function watched(
  name: string,
  options: Record<string, string | number>,
  seen: (books: Books) => void,
): PolicySettings {
  const module: PolicyModule = policyModule(name);
  const own = `./watched-${name}.js`;
  addCustomPolicy(own, own, {
    ...module,
    options: Object.fromEntries(
      Object.entries(module.options).map(([key, option]) => [
        key,
        { ...option, default: options[key] ?? option.default },
      ]),
    ),
    make: ((given, context) => {
      const policy = module.make(given, context);
      const plan = policy.plan.bind(policy);
      policy.plan = (cluster, draft, now) => {
        plan(cluster, draft, now);
        seen(booksOf(cluster, now));
      };
      return policy;
    }) satisfies PolicyModule['make'],
  });
  return { ...DEFAULT_POLICY, policy: own, preset: presetNamed(own), cutoffMs: 1_000, reserve: 0 };
}

function tasksOf(count: number, sleep: number): JobInput['tasks'] {
  return { count, run: { sleep } };
}

function each(count: number, sleep: number): { sleep: number }[] {
  return Array.from({ length: count }, () => ({ sleep }));
}

function booksOf({ capacity, workers, jobs }: ClusterView, now: Millis): Books {
  return {
    capacity: [...capacity],
    workers: Array.from(workers, ({ open, capacity, free, runs }) => ({
      open,
      capacity: [...capacity],
      free: [...free],
      runs: runs.length,
    })),
    jobs: Array.from(jobs, (job) => {
      const { number, user, weight, deadlineAt, arrivedAt, long, stages, runs } = job;
      const present = Array.from(runs, ({ startedAt }) => now - startedAt);
      return {
        number,
        user,
        weight,
        deadlineAt: Math.round(deadlineAt),
        arrivedAt: Math.round(arrivedAt),
        long,
        waiting: stages.map(({ waiting }) => waiting),
        running: Array.from(runs, ({ startedAt }) => Math.round(startedAt)).sort(),
        attained: Math.round(present.reduce((sum, ms) => sum - ms, job.attainedMs(now)) / 1_000),
      };
    }).sort((one, other) => one.arrivedAt - other.arrivedAt),
  };
}

/** Jobs by arrival in seconds, with the messages to their owner. Each label starts with its scheduler. */
type Arrivals = readonly (readonly [at: number, label: string, tasks: number, more?: Partial<JobInput>])[];

interface Played {
  readonly before: Books;
  readonly after: Books;
  /** Jobs whose tasks have started since then, in order. */
  readonly started: readonly string[];
}

function play(
  name: string,
  options: Record<string, string | number>,
  arrivals: Arrivals,
  isRestarted: boolean,
): Played {
  let books: Books | undefined;
  const policy = watched(name, options, (seen) => {
    books = seen;
  });
  const stage = new Stage({ policy, timings: LIVE_TIMINGS }, 'central-restarted');
  const { cluster } = stage;
  cluster.addCentral();
  for (const scheduler of ['s1', 's2']) cluster.addScheduler(scheduler);
  for (const worker of WORKERS) cluster.addWorker(worker, SLOTS);
  stage.advance(1_000, true);
  for (const [at, label, count, more] of arrivals) {
    stage.advance(1_000 * (1 + at) - cluster.now, true);
    const owner = stage.named(label.slice(0, 2));
    const spec = parseJobSpec({ tasks: tasksOf(count, SLEEP_MS), estimate: SLEEP_MS, ...more });
    stage.expectJob(label, owner);
    cluster.step(owner, () =>
      stage.addJob(label, owner, cluster.schedulerOf(owner).submit(spec, label, cluster.now)),
    );
    stage.settle();
  }
  stage.advance(1_000, true);
  const before = books!;
  if (isRestarted) {
    cluster.kill(cluster.centralParty);
    cluster.addCentral('central/2');
  }
  stage.advance(JOINING_MS, true);
  const after = books!;
  stage.takeLines();
  stage.advance(10 * SLEEP_MS, true);
  const started = stage.takeLines().flatMap((line) => /^w\d runs (\S+)\.\d+$/.exec(line)?.[1] ?? []);
  cluster.close();
  return { before, after, started };
}

test.each<[string, string, Record<string, string | number>, Arrivals]>([
  [
    'virtual due times',
    'goshawk',
    {},
    [
      [0, 's1-runs', 6],
      [0, 's2-ends', 2, { tasks: tasksOf(2, 5_000), estimate: 1_000 }],
      // Two of its tasks start when the other tasks have ended, regardless of its arrival; two still wait.
      [1, 's1-both', 4, { estimate: 30_000 }],
      // A job is due after 100 times its work divided by the slots. The earlier job has more work, and is still due earlier.
      [1, 's1-first', 4, { estimate: 60_000 }],
      [9, 's2-second', 4, { estimate: 59_900 }],
      [10, 's1-small', 1, { estimate: 100 }],
      [10, 's2-urgent', 2, { estimate: 60_000, priority: 'high' }],
    ],
  ],
  [
    'shares by user',
    'drf',
    { shareBy: 'user' },
    [
      [0, 's1-ann', 6, { user: 'ann' }],
      [0, 's2-ben', 2, { user: 'ben' }],
      [1, 's1-more', 6, { user: 'ann', weight: 2 }],
      [2, 's2-more', 8, { user: 'ben' }],
    ],
  ],
  [
    'deadlines',
    'prio',
    {},
    [
      [0, 's1-runs', 8, { deadline: 3_600_000 }],
      [1, 's1-someday', 4],
      [2, 's2-in-time', 4, { deadline: 3_600_000 }],
      [3, 's1-too-late', 4, { deadline: 100_000 }],
    ],
  ],
  [
    'attained service',
    'gs',
    { by: 'service', baseMs: 100_000 },
    [
      // By 160 s of service its other tasks are in the second queue, behind tasks of a job without any service.
      [0, 's1-had', 12, { tasks: [...each(8, 20_000), ...each(4, SLEEP_MS)] }],
      [1, 's2-fills', 8],
      [22, 's1-new', 4],
    ],
  ],
])('a central that is restarted under load keeps all %s (%s)', (_, name, options, arrivals) => {
  const undisturbed = play(name, options, arrivals, false);
  const { before, after, started } = play(name, options, arrivals, true);
  for (const [at, , , { user, deadline } = {}] of arrivals) {
    if (user !== undefined) expect(before.jobs).toContainEqual(expect.objectContaining({ user }));
    const deadlineAt = 1_000 * (1 + at) + Number(deadline);
    if (deadline !== undefined) expect(before.jobs).toContainEqual(expect.objectContaining({ deadlineAt }));
  }
  expect(after).toEqual(before);
  expect(started).toEqual(undisturbed.started);
  expect(new Set(started).size).toBeGreaterThan(1);
});
