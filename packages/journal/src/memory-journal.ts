import type { Histogram, JobRecord } from '@goshawk/core';
import type { Journal, JournalListener, JournalMetrics } from './contract.js';
import { JournalError } from './errors.js';
import { type Disk, type Entry, GroupCommit, type Pace } from './group-commit.js';
import { checkIdentity, type Identity, newIdentity, succeededBy } from './identity.js';
import { type Damaged, readAgain, soundRecords } from './reading.js';

/**
 * A disk in memory: what was committed outlives the journal that wrote it, what was not is gone. For tests and fault
 * injection.
 */
export class MemoryDisk {
  identity: unknown;
  /** By job, then by place. */
  readonly jobs = new Map<number, Map<number, Buffer>>();
  nextPlace = 0;
  bytes = 0;
  /** The next write fails with this. */
  failure: Error | undefined;
  /** Room for new jobs, and for anything at all. */
  isFull = false;
  hasNoRoom = false;
  owner: MemoryJournal | undefined;

  /** The process that has the journal is gone, without a word. */
  crash(): void {
    this.owner?.abandon();
    this.owner = undefined;
  }
}

export interface MemoryJournalOptions {
  readonly newTag: () => string;
  readonly version: string;
  /** Microtasks and Node's timers, unless whoever drives it has a time of its own. */
  readonly pace?: Pace;
}

const PACE: Pace = {
  soon: (action) => queueMicrotask(action),
  later: (action) => void setTimeout(action, 1).unref(),
};

/** @throws JournalError when another one has the disk, or a newer version has written it */
export function openMemoryJournal(disk: MemoryDisk, options: MemoryJournalOptions): Journal {
  if (disk.owner !== undefined) {
    throw new JournalError('journal-in-use', 'another scheduler has this journal', 'stop that one first');
  }
  disk.identity ??= newIdentity(options.newTag(), options.version);
  const journal = new MemoryJournal(disk, checkIdentity(disk.identity, 'memory'), options);
  disk.owner = journal;
  return journal;
}

class MemoryJournal implements Journal, Disk {
  readonly epoch = 0;
  readonly tag: string;
  readonly formers: readonly string[];
  readonly lastJob: number;
  readonly #disk: MemoryDisk;
  readonly #version: string;
  readonly #commits: GroupCommit;
  #identity: Identity;

  constructor(disk: MemoryDisk, identity: Identity, options: MemoryJournalOptions) {
    this.#disk = disk;
    this.#identity = identity;
    this.#version = options.version;
    this.tag = identity.tag;
    this.formers = identity.formers;
    this.lastJob = Math.max(identity.lastJob, ...disk.jobs.keys());
    this.#commits = new GroupCommit(this, options.pace ?? PACE);
    if (disk.isFull) this.#commits.setFull('the disk is full');
  }

  get state() {
    return this.#commits.state;
  }

  get isStopped(): boolean {
    return this.#commits.isStopped;
  }

  *records(onDamage: (damaged: Damaged) => void): Iterable<JobRecord> {
    for (const [, record] of this.entries(onDamage)) yield record;
  }

  entries(onDamage: (damaged: Damaged) => void): Iterable<readonly [place: number, record: JobRecord]> {
    const byJob = [...this.#disk.jobs].sort(([a], [b]) => a - b);
    const filed = byJob.flatMap(([job, all]) =>
      Array.from(all, ([place, bytes]) => [job, bytes, place] as const),
    );
    return soundRecords(filed, onDamage);
  }

  begin(self: string, skipped = 0): Promise<void> {
    this.#store(succeededBy(this.#identity, self, this.#version, this.lastJob, skipped));
    return Promise.resolve();
  }

  listen(listener: JournalListener): void {
    this.#commits.listen(listener);
  }

  append(record: JobRecord): number {
    this.#commits.setFull(this.#disk.isFull ? 'the disk is full' : undefined);
    return this.#commits.append(record);
  }

  readonly recall = (job: number, place: number): JobRecord | undefined =>
    readAgain(this.#commits.at(job, place), job);

  takePlace(): number {
    return this.#disk.nextPlace++;
  }

  at(job: number, place: number): Buffer | undefined {
    return this.#disk.jobs.get(job)?.get(place);
  }

  write(group: readonly Entry[]): Promise<void> {
    const { failure } = this.#disk;
    this.#disk.failure = undefined;
    if (failure !== undefined) return Promise.reject(failure);
    for (const { job, place, bytes } of group) {
      if (bytes === undefined) this.#forget(job);
      else this.#add(job, place, bytes);
    }
    return Promise.resolve();
  }

  hasRoomFor(): boolean {
    return !this.#disk.hasNoRoom;
  }

  get commitMs(): Histogram {
    return this.#commits.commitMs;
  }

  metrics(): JournalMetrics {
    const { bytes } = this.#disk;
    return this.#commits.metrics({ fileBytes: bytes, usedBytes: bytes, freeBytes: undefined });
  }

  async close(): Promise<void> {
    await this.#commits.close();
    if (this.#disk.owner === this) this.#disk.owner = undefined;
  }

  abandon(): void {
    this.#commits.abandon();
  }

  #add(job: number, place: number, bytes: Buffer): void {
    const known = this.#disk.jobs.get(job) ?? new Map<number, Buffer>();
    this.#disk.jobs.set(job, known.set(place, bytes));
    this.#disk.bytes += bytes.length;
  }

  #forget(job: number): void {
    for (const bytes of this.#disk.jobs.get(job)?.values() ?? []) this.#disk.bytes -= bytes.length;
    this.#disk.jobs.delete(job);
    this.#store({ ...this.#identity, lastJob: Math.max(this.#identity.lastJob, job) });
  }

  #store(identity: Identity): void {
    this.#identity = identity;
    this.#disk.identity = identity;
  }
}
