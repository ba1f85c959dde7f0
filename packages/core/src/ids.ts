/**
 * Identifiers of machines.
 *
 * Inside a process every identifier is a small integer, so that a machine can index arrays with it and a
 * simulator can deliver millions of messages per second. Drivers translate at the boundary: they assign
 * addresses, and machines only store them, compare them and send to them.
 */

/**
 * A handle of one *incarnation* of a party (worker, scheduler, central or client), assigned by the driver. A
 * restarted process gets new addresses, so comparing two integers tells the old incarnation from the new one.
 */
export type Address = number & { readonly brand: 'Address' };

/** No party; drivers never assign it. */
export const NOBODY = -1 as Address;

declare const kind: unique symbol;

/**
 * A number that identifies one kind of thing. A plain number converts to it; an identifier of another kind
 * does not.
 */
type Naming<Kind extends string> = number & { readonly [kind]?: Kind };

/** A job's number at its owner, meaningful only together with the owner's address. */
export type JobNumber = Naming<'job'>;

/** A job id: the tag of its owner's journal, and the job's number there. */
export const JOB_ID = /^.{1,32}-\d{1,15}$/u;

/** Returns the part of a job id before the number. */
export function tagOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('-')));
}

/** A stage of a job: 0 … stages − 1. */
export type StageIndex = Naming<'stage'>;

/** A task of a job: 0 … tasks − 1, counted through all stages. */
export type TaskIndex = Naming<'task'>;

/** An attempt at a task: 1, 2, … */
export type AttemptNumber = Naming<'attempt'>;

/** Milliseconds: a duration, or a reading of a monotonic clock. */
export type Millis = number;

/** Makes a submission key unique in the cluster: each user has a separate namespace. */
export function scopedKey(key: string, user: string | undefined): string {
  return user === undefined ? key : `${key}\0${user}`;
}
