import type { JobRecord, JournalState, Millis } from '@goshawk/core';
import {
  decodeRecord,
  type Entry,
  type Filed,
  GroupCommit,
  type Identity,
  newIdentity,
  succeededBy,
} from '@goshawk/journal';
import type { JournalEntry } from '@goshawk/scheduler';
import type { Draw } from '../drawing/draw.js';
import type { Calendar } from '../stepped/calendar.js';

/** Callbacks from a journal to its process. */
export interface JournalEvents {
  recorded(count: number): void;
  stateChanged(state: JournalState): void;
}

/** Schedules the callbacks of the process that owns the journal. */
export type Turn = (action: () => void) => void;

/** Storage for a scheduler's jobs: a private disk, or its journal in the shared store. */
export interface Store {
  /** Tag of its jobs, unique to it. */
  readonly tag: string;
  /** Whether no write is in flight. */
  readonly isQuiet: boolean;
  /** Whether another scheduler owns it. */
  readonly isFenced: boolean;
  /** Whether its process has died. */
  crash(): void;
}

/** The content of a scheduler's store at startup. */
export interface Found {
  /** Earlier incarnations. */
  readonly formers: readonly string[];
  readonly lastJob: number;
  readonly entries: Iterable<JournalEntry>;
}

/** Job numbers that every second incarnation skips, so that later ones exceed 32 bits. */
const SKIPPED = 2 ** 32;

/**
 * A scheduler's disk, with the journal's real group commit on top. A group in flight when the process dies is either
 * written completely or lost.
 */
export class ChaosDisk implements Store {
  readonly isFenced = false;
  syncMs: Millis;
  isFull = false;
  hasNoRoom = false;
  /** The next sync fails, after writing everything or nothing. */
  failure: { readonly isWritten: boolean } | undefined;
  readonly #calendar: Calendar;
  readonly #draw: Draw;
  readonly #name: string;
  /** A write has completed, so its callbacks must be resumed. */
  readonly #onSettled: () => void;
  readonly #onWrite: (tag: string, record: JobRecord) => void;
  #generation = 1;
  /** Records by job, then by index. */
  #jobs = new Map<number, Map<number, Buffer>>();
  #identity: Identity;
  #journal: ChaosJournal | undefined;

  constructor(
    name: string,
    calendar: Calendar,
    draw: Draw,
    syncMs: Millis,
    events: { settled(): void; written(tag: string, record: JobRecord): void },
  ) {
    this.#name = name;
    this.#identity = newIdentity(this.tag, '');
    this.#calendar = calendar;
    this.#draw = draw;
    this.syncMs = syncMs;
    this.#onSettled = events.settled;
    this.#onWrite = events.written;
  }

  get tag(): string {
    return `${this.#name}x${this.#generation}`;
  }

  get found(): Found {
    const { formers } = this.#identity;
    return { formers, lastJob: this.#lastJob + this.#skipped, entries: this.#entries() };
  }

  /** Job numbers that the next owner skips, in addition to those that the last one may not have recorded. */
  get #skipped(): number {
    return this.#identity.formers.length % 2 === 0 ? SKIPPED : 0;
  }

  get #lastJob(): number {
    return Math.max(this.#identity.lastJob, ...this.#jobs.keys());
  }

  get isQuiet(): boolean {
    return this.#journal === undefined || this.#journal.isQuiet;
  }

  *#entries(): Iterable<JournalEntry> {
    for (const [, all] of [...this.#jobs].sort(([a], [b]) => a - b)) {
      for (const [place, bytes] of all) yield [place, decodeRecord(bytes)];
    }
  }

  /** Index of the next record. */
  get nextPlace(): number {
    return 1 + Math.max(-1, ...[...this.#jobs.values()].flatMap((places) => [...places.keys()]));
  }

  at(job: number, place: number): Buffer | undefined {
    return this.#jobs.get(job)?.get(place);
  }

  of(job: number): readonly Filed[] {
    return Array.from(this.#jobs.get(job) ?? [], ([place, bytes]): Filed => [job, bytes, place]);
  }

  /** Opens the journal for a new incarnation, which owns it from now on. */
  open(self: string, turn: Turn, events: JournalEvents): ChaosJournal {
    this.#identity = succeededBy(this.#identity, self, '', this.#lastJob, this.#skipped);
    this.#journal = new ChaosJournal(this, turn, events);
    return this.#journal;
  }

  setFull(isFull: boolean, hasNoRoom: boolean): void {
    this.isFull = isFull;
    this.hasNoRoom = hasNoRoom;
    this.#journal?.tellRoom();
  }

  crash(): void {
    this.#journal?.crash(this.#draw.chance(0.5));
    this.#journal = undefined;
  }

  wipe(): void {
    this.#generation++;
    this.#jobs = new Map();
    this.#identity = newIdentity(this.tag, '');
  }

  store(group: readonly Entry[]): void {
    for (const { job, place, bytes } of group) {
      if (bytes === undefined) {
        this.#jobs.delete(job);
        this.#identity = { ...this.#identity, lastJob: Math.max(this.#identity.lastJob, job) };
      } else {
        this.#jobs.set(job, (this.#jobs.get(job) ?? new Map<number, Buffer>()).set(place, bytes));
        this.#onWrite(this.tag, decodeRecord(bytes));
      }
    }
  }

  after(ms: Millis, action: () => void): void {
    this.#calendar.put(this.#calendar.now + ms, action);
  }

  settled(): void {
    this.#onSettled();
  }
}

/** One incarnation's journal. */
export class ChaosJournal extends GroupCommit {
  readonly #disk: ChaosDisk;
  #group: readonly Entry[] | undefined;
  #isDead = false;

  constructor(disk: ChaosDisk, turn: Turn, events: JournalEvents) {
    super({ soon: turn, later: (action) => disk.after(100, () => turn(action)) });
    this.#disk = disk;
    this.nextPlace = disk.nextPlace;
    this.listen({
      recorded: (count) => turn(() => events.recorded(count)),
      stateChanged: (state) => turn(() => events.stateChanged(state)),
    });
    this.tellRoom();
  }

  get isQuiet(): boolean {
    return this.appended === this.written;
  }

  readRecord(job: number, place: number): JobRecord | undefined {
    const bytes = this.at(place) ?? this.#disk.at(job, place);
    return bytes && decodeRecord(bytes);
  }

  readJobRecords(job: number): JournalEntry[] {
    return Array.from(this.of(job, this.#disk.of(job)), ([, bytes, place]) => [place, decodeRecord(bytes)]);
  }

  protected write(group: readonly Entry[]): Promise<'written' | 'no room'> {
    if (this.#disk.hasNoRoom) {
      this.#disk.settled();
      return Promise.resolve('no room');
    }
    const { failure } = this.#disk;
    this.#disk.failure = undefined;
    this.#group = group;
    return new Promise((resolve, reject) => {
      this.#disk.after(this.#disk.syncMs, () => {
        if (this.#isDead) return;
        this.#group = undefined;
        if (failure?.isWritten !== false) this.#disk.store(group);
        if (failure === undefined) resolve('written');
        else reject(new Error('the sync failed'));
        this.#disk.settled();
      });
    });
  }

  tellRoom(): void {
    this.setState('full', this.#disk.isFull ? 'the disk is full' : undefined);
  }

  /** @param isWritten whether the group in flight is written */
  crash(isWritten: boolean): void {
    this.#isDead = true;
    if (isWritten && this.#group !== undefined) this.#disk.store(this.#group);
    this.abandon();
  }
}
