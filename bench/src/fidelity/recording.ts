import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The events that one process saw. Times are ms on a clock that all processes of the machine share. */
export interface Recording {
  /** Names, to which the columns below refer by index. */
  readonly parties: readonly string[];
  /** Rows of: start of the sending step, sender, receiver, message code. */
  readonly sent: readonly number[];
  /** Rows of: start of the handler, its duration, sender, receiver, message code. */
  readonly handled: readonly number[];
  /** Rows of: end of a sleep task, its lateness, its intended duration. */
  readonly sleeps: readonly number[];
  /** Rows of: when a machine's timer fired, its lateness. */
  readonly timers: readonly number[];
  /** Rows of: when a journal wrote a group, how long it took to become durable, its number of records. */
  readonly commits: readonly number[];
}

export const SENT_COLUMNS = 4;
export const HANDLED_COLUMNS = 5;
export const SLEPT_COLUMNS = 3;
export const LATE_COLUMNS = 2;
export const COMMITTED_COLUMNS = 3;

/** @param folder with the recordings of all processes */
export function readRecordings(folder: string): Recording[] {
  return readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recording);
}
