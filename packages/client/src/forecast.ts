import {
  type Address,
  countTasks,
  cutoffOrigin,
  effectiveScope,
  fits,
  type Impossible,
  type JobClass,
  type JobSpec,
  type JobSummary,
  type KnownWorkers,
  listAttributes,
  type Member,
  type Millis,
  mayRun,
  present,
  type Resources,
  sumOf,
  whyImpossible,
} from '@goshawk/core';
import type { ClusterView, WorkerView } from './cluster-view.js';
import type { ClusterWaiting } from './explanations.js';

/** The predicted course of a job that was not submitted. */
export interface Forecast {
  readonly tasks: number;
  /** Undefined: determined only after submission. */
  readonly class: JobClass | undefined;
  readonly cutoffMs: Millis;
  /** `said` (configured), or how it was learned. */
  readonly cutoffFrom: string;
  readonly estimateMs: Millis | undefined;
  readonly stages: readonly StageForecast[];
  /** Whether the workers could run it: each stage has some, and a gang fits on all of them together. */
  readonly canRun: boolean;
  /** Why schedulers refuse the job; undefined: they accept it, or wait for workers after a restart of central. */
  readonly refusal: Impossible | undefined;
  /** Slots of workers that accept tasks. */
  readonly slots: number;
  readonly freeSlots: number;
  /** Number of tasks that could borrow CPUs of longer ones now. */
  readonly lendable: number;
  /** Waiting work that may be served first. */
  readonly ahead: Ahead;
}

export interface StageForecast {
  readonly name: string;
  readonly tasks: number;
  readonly demand: Resources;
  /** Attributes that a worker must have. */
  readonly requires?: Readonly<Record<string, string>>;
  /** Partition that the job uses; undefined: all workers. */
  readonly partition?: 'general' | 'short';
  /** Workers that could run such a task when idle, of `workers` that accept tasks. */
  readonly fitting: number;
  readonly workers: number;
}

export interface Ahead {
  readonly jobs: number;
  readonly tasks: number;
  /** Waiting tasks of other users, of which central tells only the number to a key that may read only own jobs. */
  readonly hidden: number;
  /** Undefined if some have no estimate, or are hidden. */
  readonly workMs: Millis | undefined;
  /** The jobs with the most waiting tasks. */
  readonly examples: readonly Pick<JobSummary, 'id' | 'name' | 'tasks'>[];
}

const EXAMPLES = 3;

/**
 * Predicts from the current state of owners and central, without a trial run.
 * @param jobs that wait or run
 */
export function forecastOf(
  spec: JobSpec,
  { workers, settings: { policy }, complete }: Pick<ClusterView, 'workers' | 'settings' | 'complete'>,
  central: NonNullable<ClusterWaiting['central']>,
  jobs: readonly JobSummary[],
): Forecast {
  const { cutoffMs, preset } = policy;
  const estimateMs = estimateOf(spec);
  const decided = classOf(estimateMs, policy.estimator, cutoffMs);
  const scope = decided === undefined ? 'all' : effectiveScope(preset, preset[decided].over);
  const active = workers.filter(
    ({ state, partition }) => state === 'active' && (scope === 'all' || partition === scope),
  );
  const stages = spec.stages.map(({ name, tasks, demand, requires }) => ({
    name,
    tasks: countTasks(tasks),
    demand,
    ...present({ requires }),
    ...(scope === 'all' ? {} : { partition: scope }),
    fitting: active.filter((worker) => fits(demand, worker.capacity) && mayRun(worker, { requires })).length,
    workers: active.length,
  }));
  // With classes, short jobs go first.
  const isBefore = (job: JobSummary): boolean =>
    decided !== 'short' || !preset.byClass || job.class === 'short';
  const waiting = jobs.filter((job) => job.tasks.waiting > 0);
  const hidden = central.onlyOwn
    ? Math.max(0, central.unmatched - sumOf(waiting, ({ tasks }) => tasks.waiting))
    : 0;
  const ahead = aheadOf(waiting.filter(isBefore), hidden);
  const { slots, freeSlots, lendable = 0 } = central;
  const impossible = whyImpossible(spec, policy, knownWorkers(workers));
  return {
    tasks: sumOf(stages, ({ tasks }) => tasks),
    class: decided,
    cutoffMs,
    cutoffFrom: cutoffOrigin(policy),
    estimateMs,
    stages,
    canRun: impossible === undefined && stages.every(({ fitting }) => fitting > 0),
    // Shortly after a restart of central, workers may be missing, and schedulers do not refuse the job finally.
    refusal: complete ? impossible : undefined,
    slots,
    freeSlots,
    lendable,
    ahead,
  };
}

/** The workers as central describes them to schedulers, which decide about jobs. */
function knownWorkers(workers: readonly WorkerView[]): KnownWorkers {
  const members = workers.map(
    ({ name, slots, capacity, partition, state, attributes }, row): Member => ({
      address: row as Address,
      name,
      slots,
      capacity,
      partition,
      draining: state !== 'active',
      row,
      attributes: listAttributes(attributes) ?? [],
    }),
  );
  return {
    size: members.length,
    all: () => members,
    memoized: (_, answer) => answer(),
    reachableScope: (scope) => (members.length === 1 ? 'all' : scope),
  };
}

/** The job's estimate, or the mean of its stages' if each has one. */
function estimateOf({ estimateMs, stages }: JobSpec): Millis | undefined {
  if (estimateMs !== undefined) return estimateMs;
  if (stages.some((stage) => stage.estimateMs === undefined)) return undefined;
  const tasks = sumOf(stages, (stage) => countTasks(stage.tasks));
  return sumOf(stages, (stage) => stage.estimateMs! * countTasks(stage.tasks)) / tasks;
}

/** Estimators that use the submitter's estimate; the others ignore it. */
const USING_ESTIMATES: readonly string[] = ['given', 'auto'];

function classOf(estimateMs: Millis | undefined, estimator: string, cutoffMs: Millis): JobClass | undefined {
  if (!USING_ESTIMATES.includes(estimator)) return undefined;
  if (estimateMs !== undefined) return estimateMs >= cutoffMs ? 'long' : 'short';
  return estimator === 'given' ? 'short' : undefined;
}

function aheadOf(waiting: readonly JobSummary[], hidden: number): Ahead {
  const unknown = sumOf(waiting, ({ tasks, estimateMs }) => (estimateMs === undefined ? tasks.waiting : 0));
  const most = [...waiting].sort((a, b) => b.tasks.waiting - a.tasks.waiting);
  return {
    jobs: waiting.length,
    tasks: sumOf(waiting, ({ tasks }) => tasks.waiting),
    hidden,
    workMs:
      unknown + hidden === 0
        ? sumOf(waiting, ({ tasks, estimateMs }) => tasks.waiting * estimateMs!)
        : undefined,
    examples: most.slice(0, EXAMPLES).map(({ id, name, tasks }) => ({ id, name, tasks })),
  };
}
