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

/** Something that waits at a worker: a probe, or a task that central has placed here. */
export interface Entry {
  readonly owner: Address;
  readonly job: JobNumber;
  readonly stage: StageIndex;
  readonly long: boolean;
  readonly lane: Lane;
  readonly demand: Resources;
  /** The task, when central has placed it; a probe learns its task when it is served. */
  readonly placed: TaskAttempt | undefined;
  /** The owner's belief of the task's run time; 0 for probes, of which nobody asks. ms */
  readonly estimateMs: number;
  /** Sort key within its lane, lowest first; 0 if unknown: in order of arrival. ms */
  readonly sizeMs: number;
  /** Arrival time if a size is known; otherwise 0. */
  readonly since: Millis;
  /** Attributes that a worker must have: a thief, since who sent it here knows what this one has. */
  readonly requires?: readonly Attribute[] | undefined;
}

/** An attempt of a task, as messages name it to the owner of its job. */
export type TaskRef = { readonly job: JobNumber } & TaskAttempt;

/** The facts about a task in messages that bring one. */
type TaskFacts = Pick<Entry, 'job' | 'stage' | 'long' | 'demand'>;

/** A task that its owner gives to a slot at once, or any that a slot asks its owner for: it never waits in the queue. */
export function entryOfGiven(owner: Address, task: TaskFacts): Entry {
  return entryOfTask(owner, task, undefined, 0);
}

/** A task that central has placed. */
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

/** Whether it is this attempt of this task, which central has placed. */
export function isPlaced(entry: Entry, owner: Address, { job, task, attempt }: TaskRef): boolean {
  const { placed } = entry;
  return placed?.task === task && placed.attempt === attempt && entry.job === job && entry.owner === owner;
}

/** The entry that a probe becomes. */
export function entryOfProbe(owner: Address, probe: Omit<Probe, 'owner'>, now: Millis): Entry {
  const { job, stage, long, lane, demand, sizeMs, requires } = probe;
  // A small integer when nobody reads it: a fraction would need separate memory.
  const since = sizeMs === 0 ? 0 : now;
  return { owner, job, stage, long, lane, demand, placed: undefined, estimateMs: 0, sizeMs, since, requires };
}

/** The probe that an entry is to another worker. */
export function probeOfEntry({ owner, job, stage, long, lane, demand, sizeMs, requires }: Entry): Probe {
  return { owner, job, stage, long, lane, demand, sizeMs, requires };
}
