import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DenseIds } from '@goshawk/core/system';
import { bootId, type ProcessIdentity, processIdentity } from './process-identity.js';

/**
 * Records the process groups of a spawner, for cleanup after crashes: fixed-width lines, one write per entry, never
 * synced, because a reboot ends the groups anyway.
 *
 *     goshawk-process-groups/1 BOOT WORKER-PID:START SPAWNER-PID:START
 *     PID START        a group's leader, and so the group's number
 *                      (blank: free)
 */
const FORMAT = 'goshawk-process-groups/1';
const HEADER_BYTES = 128;
const ENTRY_BYTES = 32;
const BLANK_ENTRY = `${' '.repeat(ENTRY_BYTES - 1)}\n`;

/**
 * Variable in the environment of every task and its children. It identifies their worker, even if they leave their
 * process group.
 */
export const RECORD_VARIABLE = 'GOSHAWK_PROCESS_RECORD';

export interface GroupRecordContents {
  readonly boot: string;
  readonly worker: ProcessIdentity;
  readonly spawner: ProcessIdentity;
  readonly groups: readonly ProcessIdentity[];
}

/** Returns the folder of the records within a worker's data folder. */
export function recordFolder(dataFolder: string): string {
  return join(dataFolder, 'process-groups');
}

export function recordFile(dataFolder: string, recordId: string): string {
  return join(recordFolder(dataFolder), `${recordId}.txt`);
}

/** Returns the folder for the names of unused pipes of the spawner with this record. */
export function streamsFolder(recordFile: string): string {
  return `${recordFile.slice(0, -'.txt'.length)}.streams`;
}

/** Creates an empty record. @throws Error of the file system. */
export function createRecord(file: string, worker: ProcessIdentity, spawner: ProcessIdentity): void {
  const header = `${FORMAT} ${bootId() || '-'} ${worker.pid}:${worker.start} ${spawner.pid}:${spawner.start}`;
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${header.padEnd(HEADER_BYTES - 1)}\n`, { mode: 0o600 });
}

/** Returns undefined if the text is not a record, or only the beginning of one. */
export function parseRecord(text: string): GroupRecordContents | undefined {
  const [header = '', ...entries] = text.split('\n');
  const match = /^(\S+) (\S+) (\d+):(\d+) (\d+):(\d+) *$/.exec(header);
  if (match === null || match[1] !== FORMAT) return undefined;
  const identity = (at: number): ProcessIdentity => ({
    pid: Number(match[at]),
    start: Number(match[at + 1]),
  });
  const groups: ProcessIdentity[] = [];
  for (const entry of entries) {
    const [, pid, start] = /^(\d+) (\d+) *$/.exec(entry) ?? [];
    // Groups 0 and 1 are never tasks, even if a damaged file says so: kill(-1) would kill everything.
    if (pid !== undefined && Number(pid) > 1) groups.push({ pid: Number(pid), start: Number(start) });
  }
  return { boot: match[2] === '-' ? '' : match[2]!, worker: identity(3), spawner: identity(5), groups };
}

/**
 * The record of a spawner. If the disk is full, commands run unrecorded, because the record matters only if the
 * worker and its spawner die at the same time.
 */
export class GroupRecord {
  readonly #file: string;
  readonly #onFirstError: (error: Error) => void;
  #descriptor: number | undefined;
  #failed = false;
  readonly #slots = new DenseIds();

  constructor(file: string, onFirstError: (error: Error) => void) {
    this.#file = file;
    this.#onFirstError = onFirstError;
  }

  /** Records a group by its leader. @returns the slot to free when the group has ended */
  add(pid: number): number {
    const start = processIdentity(pid)?.start ?? 0;
    const slot = this.#slots.take();
    this.#write(slot, `${`${pid} ${start}`.padEnd(ENTRY_BYTES - 1)}\n`);
    return slot;
  }

  remove(slot: number): void {
    this.#write(slot, BLANK_ENTRY);
    this.#slots.release(slot);
  }

  /** Deletes the file once nothing is left to clean up. */
  delete(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    try {
      rmSync(this.#file, { force: true });
    } catch (error) {
      // The disk may have become read-only; the next worker removes the record.
      this.#onFirstError(error as Error);
    }
  }

  #write(slot: number, entry: string): void {
    try {
      this.#descriptor ??= openSync(this.#file, 'r+');
      writeSync(this.#descriptor, entry, HEADER_BYTES + slot * ENTRY_BYTES, 'latin1');
    } catch (error) {
      if (!this.#failed) this.#onFirstError(error as Error);
      this.#failed = true;
    }
  }
}
