import type { Cluster } from '@goshawk/client';
import {
  type Attributes,
  givenFactsOf,
  InputError,
  isFinal,
  type JobDetail,
  type JobSpec,
  type JobSummary,
  type Millis,
  meanOf,
  type PolicySettings,
  present,
  type Resources,
  type StageSpec,
  slicesOf,
  sumOf,
  type TaskList,
} from '@goshawk/core';

/** A simulation of more than this would take too long for an answer. */
const JOBS_MAX = 500;
const TASKS_MAX = 50_000;
/** Maximum number of jobs that are requested at once. */
const REQUESTS_IN_FLIGHT = 16;

/** A cluster and its unfinished jobs as plain data, from which a simulation continues. */
export interface Snapshot {
  readonly policy: PolicySettings;
  readonly schedulers: number;
  readonly workers: readonly SnapshotWorker[];
  /** In the order in which they are submitted to the simulated cluster. */
  readonly jobs: readonly SnapshotJob[];
  /** Number of jobs with unknown run times, for which the average of the others is assumed. */
  readonly assumedRunTimes: number;
}

interface SnapshotWorker {
  readonly slots: number;
  readonly capacity: Resources;
  readonly attributes: Attributes;
}

/** UnfinishedJob tasks of a job. A job may be split into two of these: its running tasks and its waiting ones. */
export interface SnapshotJob {
  readonly spec: JobSpec;
  /** The job to predict. */
  readonly isAsked: boolean;
  /** Whether it is submitted before jobs that only wait. */
  readonly isRunning: boolean;
  /** Whether a task waits, in the order of the spec's stages. */
  readonly waits: readonly boolean[];
}

/** @throws InputError if the job waits for nothing that a simulation shows, or the cluster is too large */
export async function snapshotOf(cluster: Cluster, id: string, signal: AbortSignal): Promise<Snapshot> {
  const asked = await cluster.job(id).describe({ spec: true, signal });
  checkAsked(asked);
  const [view, listed] = await Promise.all([
    cluster.describe({ signal }),
    cluster.jobs({ states: ['waiting', 'running'], limit: JOBS_MAX, signal }),
  ]);
  checkSize(listed);
  const workers = view.workers.filter(({ state }) => state === 'active');
  if (workers.length === 0)
    throw new InputError('no-workers', 'no worker accepts tasks', '`goshawk workers` shows their states');
  const others = listed.jobs.filter((job) => job.id !== id && (!isHeld(job) || job.tasks.running > 0));
  const details = [asked, ...(await described(cluster, others, signal))];
  const known = details.flatMap((job) => (isFinal(job.state) ? [] : [unfinishedOf(job, job.id === id)]));
  const { jobs, assumedRunTimes } = withRunTimes(known);
  return {
    policy: view.settings.policy,
    schedulers: Math.max(1, view.schedulers.length),
    workers: workers.map(({ slots, capacity, attributes }) => ({ slots, capacity, attributes })),
    jobs: [...jobs.filter(({ isRunning }) => isRunning), ...jobs.filter(({ isRunning }) => !isRunning)],
    assumedRunTimes,
  };
}

/** Whether none of its waiting tasks starts for now. Running ones of a job on hold end as usual. */
function isHeld({ held, beginAt }: JobSummary): boolean {
  return held === true || beginAt !== undefined;
}

function checkAsked({ id, state, tasks, held, beginAt, after }: JobDetail): void {
  const refuse = (what: string, hint: string) => new InputError('nothing-to-simulate', what, hint);
  if (isFinal(state)) throw refuse(`${id} has ended`, `\`goshawk why ${id}\` shows where its time went`);
  if (tasks.waiting === 0) throw refuse(`no task of ${id} waits`, 'its tasks run');
  if (held) throw refuse(`${id} is on hold`, `\`goshawk release ${id}\` lets it start`);
  if (beginAt !== undefined) throw refuse(`${id} begins later`, `\`goshawk release ${id}\` starts it now`);
  if ((after ?? []).length > 0) throw refuse(`${id} waits for another job`, `\`goshawk why ${id}\` names it`);
}

function checkSize({ jobs, total }: { readonly jobs: readonly JobSummary[]; readonly total: number }): void {
  const tasks = sumOf(jobs, (job) => job.tasks.waiting + job.tasks.running);
  if (total <= JOBS_MAX && tasks <= TASKS_MAX) return;
  throw new InputError(
    'too-large',
    `the cluster has ${total} unfinished jobs with at least ${tasks} tasks, too many for a simulation (at most ${JOBS_MAX} jobs with ${TASKS_MAX} tasks)`,
    '`goshawk whatif` simulates the past jobs of a cluster of any size',
  );
}

async function described(
  cluster: Cluster,
  jobs: readonly JobSummary[],
  signal: AbortSignal,
): Promise<JobDetail[]> {
  const details: JobDetail[] = [];
  for (const some of slicesOf(jobs, REQUESTS_IN_FLIGHT)) {
    const answers = await Promise.all(
      some.map(({ id }) =>
        cluster
          .job(id)
          .describe({ spec: true, signal })
          .catch((error: unknown) => {
            // It has ended and was forgotten since it was listed.
            if (error instanceof InputError) return undefined;
            throw error;
          }),
      ),
    );
    for (const detail of answers) if (detail !== undefined) details.push(detail);
  }
  // Jobs that wait for others start too late to matter.
  return details
    .filter(({ after }) => (after ?? []).length === 0)
    .sort((a, b) => a.submittedAt - b.submittedAt);
}

/** A submitted spec as it arrives, where null stands for an absent field. */
type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** An unfinished job, with the known run times of its stages. */
interface UnfinishedJob {
  readonly detail: JobDetail;
  readonly spec: Nullable<JobSpec>;
  readonly isAsked: boolean;
  readonly stages: readonly UnfinishedStage[];
}

interface UnfinishedStage {
  readonly spec: StageSpec;
  /** Typical run time; undefined: unknown. */
  readonly runMs: Millis | undefined;
  /** Elapsed run time of each running task. */
  readonly elapsedMs: readonly Millis[];
  readonly waiting: number;
}

function unfinishedOf(detail: JobDetail, isAsked: boolean): UnfinishedJob {
  const spec = detail.spec as Nullable<JobSpec>;
  let first = 0;
  const stages = detail.stages.map((stage, index): UnfinishedStage => {
    const [from, to] = [first, first + stage.tasks];
    first = to;
    const sent = spec.stages?.[index] as Nullable<StageSpec> | undefined;
    const stageSpec: StageSpec = {
      name: stage.name,
      after: sent?.after ?? [],
      // An open job may have been submitted without tasks.
      tasks: sent?.tasks ?? { sleepsMs: [] },
      // Policies compare an empty demand by identity, which the spec does not keep.
      demand: stage.demand,
      ...present({
        requires: sent?.requires ?? undefined,
        gang: sent?.gang ?? undefined,
        lend: sent?.lend ?? undefined,
      }),
    };
    const { running, waiting } = stage.counts;
    const listed = detail.running.filter(({ task }) => task >= from && task < to);
    const typical = listed.length === 0 ? 0 : meanOf(listed, ({ elapsedMs }) => elapsedMs);
    const elapsedMs = Array.from({ length: running }, (_, task) => listed[task]?.elapsedMs ?? typical);
    const runMs =
      stage.meanRunMs ??
      sleepOf(stageSpec.tasks) ??
      stage.estimateMs ??
      detail.meanRunMs ??
      detail.estimateMs ??
      undefined;
    return { spec: stageSpec, runMs, elapsedMs, waiting: isHeld(detail) ? 0 : waiting };
  });
  return { detail, spec, isAsked, stages };
}

/** The mean duration of tasks that only sleep. */
function sleepOf(tasks: TaskList): Millis | undefined {
  if ('sleepsMs' in tasks)
    return tasks.sleepsMs.length === 0 ? undefined : meanOf(Array.from(tasks.sleepsMs));
  const runs = 'each' in tasks ? tasks.each : [tasks.run];
  const sleeps = runs.flatMap((run) => ('sleep' in run ? [run.sleep] : []));
  return sleeps.length === runs.length && sleeps.length > 0 ? meanOf(sleeps) : undefined;
}

/** @throws InputError if no run time is known */
function withRunTimes(unfinished: readonly UnfinishedJob[]): Pick<Snapshot, 'jobs' | 'assumedRunTimes'> {
  const stages = unfinished.flatMap((job) => job.stages);
  const known = stages.flatMap(({ runMs }) => (runMs === undefined ? [] : [runMs]));
  if (known.length === 0)
    throw new InputError(
      'unknown-run-times',
      'the run times of all jobs are unknown',
      'ask again when a task has ended, or submit jobs with --estimate',
    );
  const assumedMs = meanOf(known);
  const assumedRunTimes = unfinished.filter((job) =>
    job.stages.some(({ runMs, waiting, elapsedMs }) => runMs === undefined && waiting + elapsedMs.length > 0),
  ).length;
  return { jobs: unfinished.flatMap((job) => partsOf(job, assumedMs)), assumedRunTimes };
}

/**
 * Splits a job of one stage into its running and its waiting tasks, so that running tasks of other jobs start before its
 * waiting ones. Limits and the order of stages apply to whole jobs, which are therefore not split.
 */
function partsOf({ detail, spec, stages, isAsked }: UnfinishedJob, assumedMs: Millis): SnapshotJob[] {
  const runs = stages.some(({ elapsedMs }) => elapsedMs.length > 0);
  const waits = stages.some(({ waiting }) => waiting > 0);
  const part = (which: 'all' | 'running' | 'waiting', isRunning: boolean): SnapshotJob => {
    const left = stages.map(({ spec: stage, runMs = assumedMs, elapsedMs, waiting }) => {
      const runsMs = which === 'waiting' ? [] : elapsedMs.map((elapsed) => remainingMs(runMs, elapsed));
      const waitsMs = which === 'running' ? [] : new Array<Millis>(waiting).fill(runMs);
      return { stage, runMs, runsMs, waitsMs };
    });
    const kept = left.map(({ runsMs, waitsMs }) => runsMs.length + waitsMs.length > 0);
    // Indices of the stages that are left.
    const places = kept.map((_, index) => kept.slice(0, index).filter(Boolean).length);
    return {
      spec: {
        name: detail.name,
        user: detail.user,
        retries: 0,
        timeoutMs: undefined,
        maxRunning: spec.maxRunning ?? undefined,
        deadlineMs: deadlineLeftMs(detail),
        weight: spec.weight ?? 1,
        priority: detail.priority,
        ...givenFactsOf(spec),
        ...present({ prefer: spec.prefer ?? undefined }),
        estimateMs: meanOf(
          left.filter((_, index) => kept[index]),
          ({ runMs }) => runMs,
        ),
        stages: left.flatMap(({ stage, runMs, runsMs, waitsMs }, index) =>
          kept[index]
            ? [
                {
                  name: stage.name,
                  after: stage.after.filter((before) => kept[before]).map((before) => places[before]!),
                  tasks: { sleepsMs: [...runsMs, ...waitsMs] },
                  demand: stage.demand,
                  estimateMs: runMs,
                  ...present({ requires: stage.requires, gang: stage.gang, lend: stage.lend }),
                },
              ]
            : [],
        ),
      },
      isAsked,
      isRunning,
      waits: left.flatMap(({ runsMs, waitsMs }) => [...runsMs.map(() => false), ...waitsMs.map(() => true)]),
    };
  };
  if (!runs || !waits) return runs || waits ? [part('all', runs)] : [];
  const isWhole = stages.length > 1 || typeof spec.maxRunning === 'number';
  return isWhole ? [part('all', true)] : [part('running', true), part('waiting', false)];
}

/** Returns the time until the job's deadline; a job that has missed it is due at once. */
function deadlineLeftMs({ submittedAt, deadlineMs }: JobDetail): Millis | undefined {
  return deadlineMs === undefined ? undefined : Math.max(1, submittedAt + deadlineMs - Date.now());
}

/** A task that has run for longer than usual is assumed to take as long again. */
function remainingMs(runMs: Millis, elapsedMs: Millis): Millis {
  return elapsedMs < runMs ? runMs - elapsedMs : Math.max(1, elapsedMs);
}
