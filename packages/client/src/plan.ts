import {
  GoshawkError,
  type JobSpec,
  type JobSummary,
  LIMITS,
  type Millis,
  sumOf,
  UnreachableError,
  type WaitingReason,
} from '@goshawk/core';
import type { Cluster } from './cluster.js';
import type { ClusterWaiting } from './explanations.js';
import { type Forecast, forecastOf } from './forecast.js';

/** Predicts the class, the eligible workers and the start of a job without submitting it. @throws UnreachableError */
export async function planJob(cluster: Cluster, spec: JobSpec, signal: AbortSignal): Promise<Forecast> {
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
  { user }: JobSpec,
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

const seconds = (ms: Millis | undefined): number | null => (ms === undefined ? null : ms / 1_000);

/** `goshawk.plan/1` */
export function planJson({ ahead, stages, refusal, ...forecast }: Forecast) {
  return {
    schema: 'goshawk.plan/1' as const,
    canRun: forecast.canRun,
    refusal: refusal === undefined ? null : `${refusal.message}; ${refusal.hint}`,
    class: forecast.class ?? null,
    cutoffSeconds: seconds(forecast.cutoffMs),
    cutoffFrom: forecast.cutoffFrom,
    estimateSeconds: seconds(forecast.estimateMs),
    tasks: forecast.tasks,
    stages,
    slots: forecast.slots,
    freeSlots: forecast.freeSlots,
    startSeconds: seconds(forecast.startMs),
    borrows: forecast.borrows,
    ahead: {
      jobs: ahead.jobs,
      tasks: ahead.tasks,
      workSeconds: seconds(ahead.workMs),
      examples: ahead.examples.map(({ id, name, tasks }) => ({ id, name, waiting: tasks.waiting })),
    },
  };
}
