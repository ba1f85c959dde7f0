import type { EndedJob, JobHandle, JobSubmission } from '@goshawk/client';
import type { Millis, Random } from '@goshawk/core';

/** A job of the load, and what its user does with it. */
export interface PlannedJob {
  readonly job: JobSubmission;
  readonly tasks: number;
  /** Whether its runtime counts as that of a short job. */
  readonly isShort?: boolean;
  /** The expected results; undefined: they are not compared. */
  readonly results?: readonly unknown[];
  /** Called once the job is accepted. */
  readonly act?: (handle: JobHandle) => Promise<unknown>;
  /** States in which the job may end. */
  readonly ends: readonly EndedJob['state'][];
}

const USERS = ['ann', 'ben', 'cleo'];
const COMPLETED = ['completed'] as const;

/** One job in this many is long, one calls a function whose results are checked, and one uses another feature. */
const LONG_JOB_INTERVAL = 10;
const CHECKED_JOB_INTERVAL = 6;
const FEATURE_JOB_INTERVAL = 3;

/** Plans the next job of the load. `module` returns its input; with `image`, some programs run in a container of it. */
export function planJob(random: Random, module: string, image?: string): PlannedJob {
  const user = USERS[Math.floor(random.next() * USERS.length)]!;
  const isOneIn = (interval: number): boolean => random.next() * interval < 1;
  const sleeps = (count: number, from: Millis, to: Millis) =>
    Array.from({ length: count }, () => ({ sleep: from + random.next() * (to - from) }));
  if (isOneIn(LONG_JOB_INTERVAL)) {
    const job = { name: 'long', user, estimate: 4_000, tasks: sleeps(3, 3_000, 5_000) };
    return { job, tasks: 3, ends: COMPLETED };
  }
  if (isOneIn(CHECKED_JOB_INTERVAL)) {
    const results = [1, 2, 3].map(() => random.next());
    const tasks = results.map((input) => ({ module, input }));
    return { job: { name: 'checked', user, estimate: 50, tasks }, tasks: 3, results, ends: COMPLETED };
  }
  if (isOneIn(FEATURE_JOB_INTERVAL)) {
    const features = [staged, gang, retried, held, cancelled, programs, preemptible];
    if (image !== undefined) features.push(inImage(image));
    return features[Math.floor(random.next() * features.length)]!(user, sleeps);
  }
  const job = { name: 'short', user, estimate: 110, tasks: sleeps(4, 20, 200) };
  return { job, tasks: 4, isShort: true, ends: COMPLETED };
}

/** Length of the output of `seq 200`. */
const PRINTED_BYTES = 692;

type Feature = (
  user: string,
  sleeps: (count: number, from: Millis, to: Millis) => { readonly sleep: Millis }[],
) => PlannedJob;

const staged: Feature = (user, sleeps) => {
  const stages = [
    { name: 'first', tasks: sleeps(3, 20, 200) },
    { name: 'second', after: ['first'], tasks: sleeps(2, 20, 200) },
  ];
  return { job: { name: 'staged', user, stages }, tasks: 5, ends: COMPLETED };
};

const gang: Feature = (user, sleeps) => ({
  job: { name: 'gang', user, gang: true, retries: 20, estimate: 300, tasks: sleeps(3, 200, 400) },
  tasks: 3,
  ends: COMPLETED,
});

const retried: Feature = (user) => ({
  job: {
    name: 'retried',
    user,
    retries: 3,
    tasks: { count: 2, run: { exec: ['/bin/sh', '-c', 'test "$GOSHAWK_ATTEMPT" -gt 1'] } },
  },
  tasks: 2,
  ends: COMPLETED,
});

const held: Feature = (user, sleeps) => ({
  job: { name: 'held', user, hold: true, tasks: sleeps(2, 20, 200) },
  tasks: 2,
  act: async (handle) => {
    await handle.update({ priority: 'high' });
    await handle.release();
  },
  ends: COMPLETED,
});

const cancelled: Feature = (user, sleeps) => ({
  job: { name: 'cancelled', user, tasks: sleeps(3, 10_000, 20_000) },
  tasks: 3,
  act: (handle) => handle.cancel(),
  ends: ['cancelled'],
});

/** Programs whose output is read. A task that runs again prints again. */
const programs: Feature = (user) => ({
  job: { name: 'programs', user, tasks: { count: 3, run: { exec: ['/bin/sh', '-c', 'seq 200'] } } },
  tasks: 3,
  act: async (handle) => {
    let bytes = 0;
    let isDropped = false;
    const onDropped = () => {
      isDropped = true;
    };
    for await (const chunk of handle.logs({ follow: true, onDropped })) bytes += chunk.bytes.length;
    if (bytes < 3 * PRINTED_BYTES && !isDropped)
      throw new Error(`${handle.id}: only ${bytes} bytes of output`);
  },
  ends: COMPLETED,
});

const preemptible: Feature = (user, sleeps) => ({
  job: {
    name: 'preemptible',
    user,
    preemptible: true,
    priority: 'low',
    deadline: 3_600_000,
    tasks: sleeps(2, 1_000, 3_000),
  },
  tasks: 2,
  ends: COMPLETED,
});

/** A program in a container. `image` contains /bin/sh. */
const inImage =
  (image: string): Feature =>
  (user) => ({
    job: { name: 'image', user, tasks: [{ exec: ['/bin/sh', '-c', 'echo $GOSHAWK_TASK'], image }] },
    tasks: 1,
    ends: COMPLETED,
  });
