import {
  CLASSES,
  doc,
  expectedEndTable,
  GoshawkError,
  type JobSpec,
  type JobSummary,
  json,
  LIMITS,
  type Millis,
  sumOf,
  UnreachableError,
  type WaitingReason,
} from '@goshawk/core';
import type { Cluster } from './cluster.js';
import type { ClusterWaiting } from './explanations.js';
import { type Ahead, type Forecast, forecastOf, type StageForecast } from './forecast.js';
import type { PlannedEnd } from './planned-end.js';

const { byName, choice, count, flag, list, literal, number, omitted, orNull, seconds, table, text } = json;

/** Prediction for a job that was not submitted. */
export type Plan = Forecast & {
  /** Time until its first task starts; undefined: unknown, or it cannot run. */
  readonly startMs: Millis | undefined;
  /** Whether it starts at once although no CPU is free: its first tasks borrow the CPUs of longer ones, which pause. */
  readonly borrows: boolean;
  readonly end: PlannedEnd;
};

/**
 * Predicts the class, the eligible workers, the start and the end of a job without submitting it. A key that may read only own
 * jobs suffices: central counts and simulates the others.
 * @throws UnreachableError
 */
export async function planJob(cluster: Cluster, spec: JobSpec, signal: AbortSignal): Promise<Plan> {
  // Central answers after some seconds.
  const ending = cluster.plannedEnd(spec, { signal });
  const [forecast, end] = await Promise.all([forecastNow(cluster, spec, signal), ending]);
  return planOf(forecast, forecast.canRun ? end : { unknown: 'no worker can run it now' });
}

export function planOf(forecast: Forecast, end: PlannedEnd): Plan {
  const { startMs } = end;
  const { freeSlots, lendable } = forecast;
  return { ...forecast, startMs, borrows: startMs === 0 && freeSlots === 0 && lendable > 0, end };
}

async function forecastNow(cluster: Cluster, spec: JobSpec, signal: AbortSignal): Promise<Forecast> {
  const [view, { central, waiting }, { jobs }] = await Promise.all([
    cluster.describe({ signal }),
    cluster.waiting({ signal }),
    cluster.jobs({ states: ['waiting', 'running'], limit: LIMITS.jobsListedMax, signal }),
  ]);
  if (central === undefined)
    throw new UnreachableError('unreachable', 'central does not answer', 'try again');
  return forecastOf(spec, view, central, await withoutHeld(cluster, spec, jobs, waiting, signal));
}

/** Tasks with these reasons do not delay others, however many workers become free. */
const HELD: ReadonlySet<WaitingReason> = new Set([
  'other-job',
  'required',
  'drained',
  'no-worker',
  'held',
  'begin',
]);
/** Maximum number of jobs whose waiting reasons are requested, those with the most waiting tasks first. */
const ASKED_MAX = 100;

/** Returns the jobs; their waiting counts exclude tasks that cannot start at present. */
async function withoutHeld(
  cluster: Cluster,
  { user = cluster.user }: JobSpec,
  jobs: readonly JobSummary[],
  waiting: ClusterWaiting['waiting'],
  signal: AbortSignal,
): Promise<readonly JobSummary[]> {
  // If the user has reached a limit, it delays the planned job too, so such tasks stay counted.
  const isHeld = (reason: WaitingReason, of: string | undefined): boolean =>
    HELD.has(reason) || (reason === 'user-limit' && (user === undefined || of !== user));
  if (!waiting.some(({ reason }) => isHeld(reason, undefined))) return jobs;
  const asked = [...jobs].sort((a, b) => b.tasks.waiting - a.tasks.waiting).slice(0, ASKED_MAX);
  const held = new Map<string, number>();
  await Promise.all(
    asked.map(async ({ id, user: of }) => {
      const waits = await explained(cluster, id, signal);
      held.set(
        id,
        sumOf(waits, ({ reason, tasks }) => (isHeld(reason, of) ? tasks : 0)),
      );
    }),
  );
  return jobs.map((job) => {
    const left = Math.max(0, job.tasks.waiting - (held.get(job.id) ?? 0));
    return { ...job, tasks: { ...job.tasks, waiting: left } };
  });
}

async function explained(cluster: Cluster, id: string, signal: AbortSignal) {
  try {
    return (await cluster.job(id).explain({ signal })).waiting;
  } catch (error) {
    if (!(error instanceof GoshawkError)) throw error;
    // The job or its scheduler is gone.
    return [];
  }
}

const stageTable = table<StageForecast>()(() => ({
  name: text,
  tasks: count,
  demand: byName(number),
  requires: omitted(byName(text)),
  partition: doc(
    'The partition that the job uses; absent: all workers.',
    omitted(choice('general', 'short')),
  ),
  fitting: doc('Number of workers that can run the tasks, out of `workers` that accept tasks.', count),
  workers: count,
}));

const exampleTable = table<Ahead['examples'][number]>()((of) => ({
  id: text,
  name: text,
  waiting: of(count, ({ tasks }) => tasks.waiting),
}));

const aheadTable = table<Ahead>()((of) => ({
  jobs: count,
  tasks: count,
  workSeconds: of(orNull(seconds), ({ workMs }) => workMs),
  hidden: doc('Waiting tasks of other users; 0 unless the key may read only own jobs.', count),
  examples: list(exampleTable),
}));

/** The fields of `goshawk.plan/1`, from which its JSON and its schema are derived. */
export const planTable = table<Plan>()((of) => ({
  schema: of(literal('goshawk.plan/1'), () => 'goshawk.plan/1' as const),
  canRun: doc('Whether each stage has workers that can run its tasks, and submit accepts the job.', flag),
  refusal: doc(
    'Reason why submit refuses the job; null: submit accepts the job.',
    of(orNull(text), ({ refusal }) =>
      refusal === undefined ? undefined : `${refusal.message}; ${refusal.hint}`,
    ),
  ),
  class: doc('Class of the job; null: determined after submission.', orNull(choice(...CLASSES))),
  cutoffSeconds: of(orNull(seconds), ({ cutoffMs }) => cutoffMs),
  cutoffFrom: text,
  estimateSeconds: of(orNull(seconds), ({ estimateMs }) => estimateMs),
  tasks: count,
  stages: list(stageTable),
  slots: count,
  freeSlots: count,
  startSeconds: doc(
    'Expected time until the first task starts; null: unknown.',
    of(orNull(seconds), ({ startMs }) => startMs),
  ),
  startEarliestSeconds: doc(
    'It starts between these times in about nine of ten cases; null: unknown.',
    of(orNull(seconds), ({ end }) => end.startBetweenMs?.[0]),
  ),
  startLatestSeconds: of(orNull(seconds), ({ end }) => end.startBetweenMs?.[1]),
  expectedEnd: doc(
    'When the job would end if it were submitted now; null: unknown.',
    of(orNull(expectedEndTable), ({ end }) => end.expectedEnd),
  ),
  expectedEndUnknown: doc(
    'Why the end is unknown; null: it is known.',
    of(orNull(text), ({ end }) => end.unknown),
  ),
  borrows: doc(
    'Whether it starts at once although no CPU is free: its first tasks borrow the CPUs of longer ones, which pause.',
    flag,
  ),
  ahead: aheadTable,
}));

/** `goshawk.plan/1` */
export function planJson(plan: Plan): json.JsonOf<typeof planTable> {
  return planTable.json(plan, undefined);
}
