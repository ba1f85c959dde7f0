import type {
  Address,
  Attribute,
  JobNumber,
  Lane,
  MessageOf,
  Millis,
  Probe,
  Resources,
  StageIndex,
  TaskAttempt,
} from '@goshawk/core';

/** An entry of the worker's queue: a probe, or a task that central placed here. */
export interface Entry {
  readonly owner: Address;
  readonly job: JobNumber;
  readonly stage: StageIndex;
  readonly long: boolean;
  readonly lane: Lane;
  readonly demand: Resources;
  /** The task, if central placed it; a probe is bound to a task when it is served. */
  readonly placed: TaskAttempt | undefined;
  /** The owner's estimate of the task's run time in ms; 0 for probes. */
  readonly estimateMs: number;
  /** Size in ms by which its lane is sorted, smallest first; 0 if unknown: served in order of arrival. */
  readonly sizeMs: number;
  /** Arrival time if a size is known; otherwise 0. */
  readonly since: Millis;
  /** Required attributes, checked for thieves; the owner has already checked this worker. */
  readonly requires?: readonly Attribute[] | undefined;
}

/** An attempt of a task, as in messages to the owner of its job. */
export type TaskRef = { readonly job: JobNumber } & TaskAttempt;

/** Properties that every message with a task contains. */
type TaskFacts = Pick<Entry, 'job' | 'stage' | 'long' | 'demand'>;

/** Creates the entry of a task that its owner gives directly to a slot, without queueing. */
export function entryOfGiven(owner: Address, task: TaskFacts): Entry {
  return entryOfTask(owner, task, undefined, 0);
}

/** Creates the entry of a task that central placed here. */
export function entryOfPlaced(message: MessageOf<'assign'>): Entry {
  const { owner, task, attempt, estimateMs } = message;
  return entryOfTask(owner, message, { task, attempt }, estimateMs);
}

/** Creates an entry that is served in order of arrival, regardless of its size. */
function entryOfTask(
  owner: Address,
  { job, stage, long, demand }: TaskFacts,
  placed: Entry['placed'],
  estimateMs: Millis,
): Entry {
  const lane = 'normal';
  return {
    owner,
    job,
    stage,
    long,
    lane,
    demand,
    placed,
    estimateMs,
    sizeMs: 0,
    since: 0,
    requires: undefined,
  };
}

/** Returns whether the entry is this attempt of a placed task. */
export function isPlaced(entry: Entry, owner: Address, { job, task, attempt }: TaskRef): boolean {
  const { placed } = entry;
  return placed?.task === task && placed.attempt === attempt && entry.job === job && entry.owner === owner;
}

/** Creates the entry of a probe. */
export function entryOfProbe(owner: Address, probe: Omit<Probe, 'owner'>, now: Millis): Entry {
  const { job, stage, long, lane, demand, sizeMs, requires } = probe;
  // V8 allocates heap memory for a fraction but not for a small integer, so unneeded times are 0.
  const since = sizeMs === 0 ? 0 : now;
  return { owner, job, stage, long, lane, demand, placed: undefined, estimateMs: 0, sizeMs, since, requires };
}

/** Converts an entry back to a probe, for another worker. */
export function probeOfEntry({ owner, job, stage, long, lane, demand, sizeMs, requires }: Entry): Probe {
  return { owner, job, stage, long, lane, demand, sizeMs, requires };
}
