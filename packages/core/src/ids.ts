/**
 * How machines name things.
 *
 * Inside a process every name is a small integer, so that a machine can index an array or a Map with it
 * and a simulator can run millions of messages a second. Drivers translate at the door: a driver gives
 * out addresses, machines only store them, compare them and send to them.
 */

/**
 * A handle for one *incarnation* of one party (worker, scheduler, central or client), assigned by the driver.
 * A restarted process gets new addresses, so comparing two integers distinguishes references to the old and
 * the new one.
 */
export type Address = number & { readonly brand: 'Address' };

/** Nobody. Drivers never give it out. */
export const NOBODY = -1 as Address;

declare const kind: unique symbol;

/** A number that names one kind of thing: a plain number may stand for it, the name of another kind of thing may not. */
type Naming<Kind extends string> = number & { readonly [kind]?: Kind };

/** A job, as its owner numbers it. Only meaningful together with the owner's address. */
export type JobNumber = Naming<'job'>;

/** A job's id: what all jobs of its owner's journal begin with, and its number there. */
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

/** Milliseconds: a duration, or a reading of a clock that only ever goes forward. */
export type Millis = number;
