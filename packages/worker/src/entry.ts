import type { Address, Lane, MessageOf, Millis, Probe, Resources, TaskAttempt } from '@goshawk/core';

/** Something that waits at a worker: a probe, or a task that central has placed here. */
export interface Entry {
  readonly owner: Address;
  readonly job: number;
  readonly stage: number;
  readonly long: boolean;
  readonly lane: Lane;
  readonly demand: Resources;
  /** The task, when central has placed it; a probe learns its task when it is served. */
  readonly placed: TaskAttempt | undefined;
  /** The owner's belief of the task's run time; 0 for probes, of which nobody asks. ms */
  readonly estimateMs: number;
  /** The least comes first in its lane; 0 where none is told: they are served as they came. ms */
  readonly sizeMs: number;
  /** When it came here, where a size is told; otherwise 0. */
  readonly since: Millis;
}

/** What the messages that bring a task say of it. */
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

/** What stands in the order of its coming, whatever its size. */
function entryOfTask(
  owner: Address,
  { job, stage, long, demand }: TaskFacts,
  placed: Entry['placed'],
  estimateMs: Millis,
): Entry {
  const lane = 'normal';
  return { owner, job, stage, long, lane, demand, placed, estimateMs, sizeMs: 0, since: 0 };
}

/**
 * The entry that a probe becomes. Where one object comes as the probes of a whole batch, as it does within a process,
 * one entry is shared by all of them: they are never changed, and there are many.
 */
export function entryOfProbe(owner: Address, probe: Omit<Probe, 'owner'>, now: Millis): Entry {
  // A small integer where nobody looks at it: a fraction would take memory of its own for each probe.
  const since = probe.sizeMs === 0 ? 0 : now;
  if (latest?.probe === probe && latest.entry.owner === owner && latest.entry.since === since)
    return latest.entry;
  const { job, stage, long, lane, demand, sizeMs } = probe;
  const entry = { owner, job, stage, long, lane, demand, placed: undefined, estimateMs: 0, sizeMs, since };
  latest = { probe, entry };
  return entry;
}

/** The probe that an entry is to another worker; the same object for the next one that shares the entry. */
export function probeOfEntry(entry: Entry): Probe {
  if (given?.entry === entry) return given.probe;
  const { owner, job, stage, long, lane, demand, sizeMs } = entry;
  const probe = { owner, job, stage, long, lane, demand, sizeMs };
  given = { entry, probe };
  return probe;
}

/** The last entry that was made of a probe, and the last probe that was made of an entry. */
let latest: { readonly probe: object; readonly entry: Entry } | undefined;
let given: { readonly entry: Entry; readonly probe: Probe } | undefined;
