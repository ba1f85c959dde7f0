import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The events that one process saw. Times are ms on a clock that all processes of the machine share. */
export interface Recording {
  /** Names, to which the columns below refer by place. */
  readonly parties: readonly string[];
  /** Rows of beginning of the step in which it was sent, sender, receiver, code of the message. */
  readonly sent: readonly number[];
  /** Rows of when its handler was called, what that took, sender, receiver, code. */
  readonly handled: readonly number[];
  /** Rows of when a task that sleeps ended, how late that was, and for how long it was to sleep. */
  readonly sleeps: readonly number[];
  /** Rows of when a machine's timer fired, and how late that was. */
  readonly timers: readonly number[];
  /** Rows of when a journal gave a group to the disk, after how long it was durable, and how many records it had. */
  readonly commits: readonly number[];
}

export const SENT_COLUMNS = 4;
export const HANDLED_COLUMNS = 5;
export const SLEPT_COLUMNS = 3;
export const LATE_COLUMNS = 2;
export const COMMITTED_COLUMNS = 3;

/** @param folder into which the recorders of all processes wrote */
export function readRecordings(folder: string): Recording[] {
  return readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recording);
}
