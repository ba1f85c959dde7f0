import { Random } from '@goshawk/core';
import { configureGenerator, type TraceJob } from '@goshawk/traces';
import { percentile } from '../bench-report.js';

/** A simulated job and its result. */
export interface End {
  readonly job: TraceJob;
  readonly class: 'short' | 'long';
  readonly isCompleted: boolean;
  readonly submitSeconds: number;
  readonly runtimeSeconds: number;
}

/** A statistic of a run; lower is better. */
interface Statistic {
  readonly name: string;
  of(ends: readonly End[]): number;
}

/** At most a multiple of the best specialist's value or of a column's value, or at most a fixed value. */
export type Bound = { readonly times: number; readonly of: string } | { readonly atMost: number };

export const BEST = 'the best';
/** The column for a user's jobs alone on the user's share of the cluster. */
export const ALONE = 'alone';

/** A workload on a cluster, for goshawk and the policies designed for this workload. */
export interface World {
  /** `--only` lists prefixes of names, separated by commas. */
  readonly name: string;
  readonly workload: (seed: number) => string | readonly TraceJob[];
  /** Options of `goshawk simulate`. */
  readonly cluster: readonly string[];
  readonly specialists: readonly string[];
  /** A user whose jobs are also simulated alone, under goshawk, on a cluster of the user's share. */
  readonly alone?: { readonly user: string; readonly cluster: readonly string[] };
  readonly rows: readonly (Statistic & { readonly bound: Bound })[];
}

const meanOf = (name: string, of: (end: End) => boolean = () => true): Statistic => ({
  name: `${name}, mean, s`,
  of: (ends) => {
    const chosen = ends.filter(of);
    return chosen.reduce((sum, { runtimeSeconds }) => sum + runtimeSeconds, 0) / chosen.length;
  },
});

const quantile = (name: string, percent: 50 | 90, of: (end: End) => boolean): Statistic => ({
  name: `${name}, p${percent}, s`,
  of: (ends) => {
    const chosen = ends.filter(of);
    return percentile(
      chosen.map(({ runtimeSeconds }) => runtimeSeconds),
      percent / 100,
    );
  },
});

const MAKESPAN: Statistic = {
  name: 'makespan, s',
  of: (ends) => Math.max(...ends.map(({ submitSeconds, runtimeSeconds }) => submitSeconds + runtimeSeconds)),
};

const MISSED: Statistic = {
  name: 'deadlines missed',
  of: (ends) =>
    ends.filter(({ job: { deadlineSeconds = Infinity }, isCompleted, runtimeSeconds }) => {
      return deadlineSeconds < Infinity && (!isCompleted || runtimeSeconds > deadlineSeconds);
    }).length,
};

const ofPart = (part: string) => (end: End) => end.job.name === part;
const ofUser = (user: string) => (end: End) => end.job.user === user;
const ofClass = (jobClass: End['class']) => (end: End) => end.class === jobClass;

const atMostBest = (times: number) => ({ bound: { times, of: BEST } });

const STAGED = {
  specialists: ['tetris', 'srtf', 'carbyne'],
  rows: [
    { ...meanOf('all jobs'), ...atMostBest(0.8) },
    { ...MAKESPAN, bound: { times: 1.02, of: 'tetris' } },
  ],
} as const;

const IO = 'disk-in=100,disk-out=100,net-in=100,net-out=100';

const TWICE_IO = IO.replaceAll('100', '200');

const shapes: readonly World[] = ['tpc-ds', 'tpc-h', 'bigbench', 'microsoft'].map((shape) => ({
  name: `stages, ${shape}`,
  workload: (seed) => `dag-like:jobs=100,shape=${shape},seed=${seed}`,
  cluster: ['--workers', '28', '--cpus', '64', '--resources', `cpu=24,memory=56GiB,${TWICE_IO}`],
  ...STAGED,
}));

const sizes: readonly World[] = ['0.4,0.6', 'uniform,0.1,0.9', '0.2:2,0.5:1'].map((drawn) => ({
  name: `sizes ${drawn}`,
  workload: (seed) => `packing:jobs=20000,load=0.95,machines=10,sizes=${drawn},seed=${seed}`,
  cluster: ['--workers', '10', '--cpus', '4'],
  specialists: ['bfjs', 'vqs-bf', 'vqs'],
  rows: [{ ...meanOf('all jobs'), ...atMostBest(1.1) }],
}));

/** Returns gangs; those without a deadline may be preempted. */
function gangs(seed: number): TraceJob[] {
  const jobs = [...configureGenerator(`e2e:jobs=600,nodes=256,load=1.4,seed=${seed}`).generate()];
  return jobs.map((job) => ({ ...job, gang: true, preemptible: job.deadlineSeconds === undefined }));
}

/** Returns a job whose tasks all take the same time. */
const equalTasks = (user: string, submitSeconds: number, tasks: number, seconds: number): TraceJob => ({
  submitSeconds,
  durationsSeconds: new Float64Array(tasks).fill(seconds),
  meanSeconds: seconds,
  user,
  name: user,
});

/** Run time of each task of a large job. */
const LARGE_SECONDS = 30;

/** `ana` submits all jobs at once, `ben` a small one per second. */
function twoUsers(jobs: number, tasks: number, seconds: number): TraceJob[] {
  return [
    ...Array.from({ length: jobs }, () => equalTasks('ana', 0, tasks, seconds)),
    ...Array.from({ length: 100 }, (_, at) => equalTasks('ben', 1 + at, 2, 10)),
  ];
}

/** @param fromSeconds ignores earlier jobs: non-preemptible tasks of the first user were still running then */
const users = (name: string, jobs: readonly TraceJob[], fromSeconds = 0): World => ({
  name: `users, ${name}`,
  workload: () => jobs,
  cluster: ['--workers', '20', '--cpus', '4'],
  specialists: ['drf:share-by=user'],
  alone: { user: 'ben', cluster: ['--workers', '10', '--cpus', '4'] },
  rows: [
    {
      ...quantile('the other user', 50, (end) => ofUser('ben')(end) && end.submitSeconds >= fromSeconds),
      bound: { times: 1.2, of: ALONE },
    },
  ],
});

/**
 * Small tasks for seven minutes, slightly more than four workers of 4 CPUs can run, and one task that needs a whole
 * worker.
 */
function stream(seed: number): TraceJob[] {
  const random = Random.seeded(seed).fork('stream');
  const jobs: TraceJob[] = [];
  for (let at = 0; at < 420; at += -0.6 * Math.log(1 - random.next())) {
    const seconds = Math.max(0.1, -10 * Math.log(1 - random.next()));
    jobs.push({ ...equalTasks('small', at, 1, seconds), demand: { cpu: 1 } });
  }
  const place = jobs.findIndex(({ submitSeconds }) => submitSeconds >= 20);
  jobs.splice(place, 0, { ...equalTasks('whole', jobs[place]!.submitSeconds, 1, 30), demand: { cpu: 4 } });
  return jobs;
}

/**
 * What the tasks of 90% of interactive jobs take at most without any wait: their times are log-normal, with a median of
 * 2 s and a sigma of 0.5, and 1.2816 is the 90th percentile of the normal distribution.
 */
const INTERACTIVE_SECONDS = 2 * Math.exp(0.5 * 1.2816);

const part = (name: string) => ({ ...meanOf(name, ofPart(name)), ...atMostBest(1.1) });

/** The table "what must hold" of the policy goshawk. */
export const WORLDS: readonly World[] = [
  {
    name: 'short and long',
    workload: (seed) => `google-like:jobs=1000,seed=${seed}`,
    cluster: ['--workers', '300', '--load', '0.9'],
    specialists: ['hawk', 'sparrow', 'central'],
    rows: (['short', 'long'] as const).flatMap((each) => [
      { ...quantile(each, 50, ofClass(each)), ...atMostBest(1.03) },
      { ...quantile(each, 90, ofClass(each)), ...atMostBest(1.03) },
    ]),
  },
  ...shapes,
  {
    name: 'stages, facebook-like',
    workload: (seed) => `facebook-like:jobs=200,seed=${seed}`,
    cluster: ['--workers', '20', '--cpus', '32', '--resources', `cpu=16,memory=32GiB,${IO}`],
    ...STAGED,
  },
  ...sizes,
  {
    name: 'deadlines',
    workload: gangs,
    cluster: [
      ...['--workers', '256', '--attribute', 'rack=r1,r2,r3,r4,r5,r6,r7,r8'],
      ...['--durations', 'task'],
    ],
    specialists: ['point-perf', 'prio'],
    rows: [{ ...MISSED, ...atMostBest(1.1) }],
  },
  users('a flood of small jobs', twoUsers(600, 4, 10)),
  users('a few large jobs', twoUsers(4, 200, LARGE_SECONDS), LARGE_SECONDS),
  {
    name: 'a whole worker',
    workload: stream,
    cluster: ['--workers', '4', '--cpus', '4'],
    specialists: ['drf', 'tetris', 'bfjs'],
    rows: [{ ...meanOf('the large task', ofPart('whole')), bound: { atMost: 120 } }],
  },
  {
    name: 'mixed',
    workload: (seed) => `mixed:jobs=400,load=1,seed=${seed}`,
    cluster: [],
    specialists: ['tetris', 'srtf', 'drf', 'hawk'],
    rows: [
      { ...quantile('interactive', 90, ofPart('interactive')), bound: { atMost: 1.1 * INTERACTIVE_SECONDS } },
      ...['interactive', 'batch', 'gang', 'gpu'].map(part),
      { ...MISSED, ...atMostBest(1.1) },
    ],
  },
];
