import type { KeyHolder, Millis } from '@goshawk/core';
import { type Entry, GroupCommit, type SentGroup, SentGroups } from '@goshawk/journal';
import type { SharedDisk, SharedRow, Written } from '@goshawk/journal/testing';
import type { Draw } from '../drawing/draw.js';
import type { Calendar } from '../stepped/calendar.js';
import type { JournalEvents, Store, Turn } from './disk.js';

/** A request without an answer is resent after this time. */
const ANSWER_MS = 800;
const PAUSE_MS = 200;
/** The interval between checks that the epoch is still valid. */
const POLL_MS = 1_000;
/** Maximum delay of a late commit. */
const LATE_MS = 9_000;

/** The connection of one process to the shared journals, and its faults. */
export class StoreConnection {
  /** The round trip of a commit. */
  syncMs: Millis;
  /** Whether no message gets through. */
  isCut = false;
  /** The share of commits whose request or answer is lost, or that are applied after the sender has given up. */
  lossy = 0;

  constructor(syncMs: Millis) {
    this.syncMs = syncMs;
  }

  /** A full disk appears as a store that does not answer. */
  setFull(isFull: boolean): void {
    this.isCut = isFull;
  }
}

interface StoreEvents extends JournalEvents {
  keyTaken(job: number, by: KeyHolder): void;
}

/** One owner's journal in the shared store, over a connection on which commits may be lost or late. */
export class SharedChaosJournal extends GroupCommit implements Store {
  readonly row: SharedRow;
  readonly epoch: number;
  readonly #disk: SharedDisk;
  readonly #way: StoreConnection;
  readonly #calendar: Calendar;
  readonly #draw: Draw;
  readonly #turn: Turn;
  readonly #events: StoreEvents;
  readonly #settled: () => void;
  readonly #groups: SentGroups;
  #isDead = false;

  constructor(
    disk: SharedDisk,
    row: SharedRow,
    way: StoreConnection,
    around: { calendar: Calendar; draw: Draw; turn: Turn; settled: () => void },
    events: StoreEvents,
  ) {
    super({ soon: around.turn, later: (action) => this.#after(100, action) });
    this.#disk = disk;
    this.row = row;
    this.epoch = row.epoch;
    this.#way = way;
    this.#calendar = around.calendar;
    this.#draw = around.draw;
    this.#turn = around.turn;
    this.#settled = around.settled;
    this.#events = events;
    this.#groups = new SentGroups(row.written);
    this.nextPlace = 1 + Math.max(-1, ...[...row.jobs.values()].flatMap((places) => [...places.keys()]));
    this.listen({
      recorded: (count) => this.#turn(() => events.recorded(count)),
      stateChanged: (state) => this.#turn(() => events.stateChanged(state)),
    });
    this.#look();
  }

  get isQuiet(): boolean {
    return this.appended === this.written;
  }

  get tag(): string {
    return this.row.tag;
  }

  get isFenced(): boolean {
    return this.row.epoch !== this.epoch;
  }

  protected write(group: readonly Entry[]): Promise<'written'> {
    const sent = this.#groups.next(group);
    return new Promise((resolve, reject) => {
      let isAnswered = false;
      const answered = (written: Written): void => {
        if (isAnswered || this.#isDead) return;
        isAnswered = true;
        this.setState('away', undefined);
        for (const { job, key } of this.#groups.answered(sent, written.taken)) {
          const by = this.#disk.holderOf(key);
          this.#turn(() => this.#events.keyTaken(job, by));
        }
        if (written.outcome === 'written') resolve('written');
        else reject(new Error('another one has the journal'));
        this.#settled();
      };
      const send = (): void => {
        if (isAnswered || this.#isDead) return;
        this.#send(sent, answered);
        this.#after(ANSWER_MS, () => {
          if (isAnswered || this.#isDead) return;
          this.setState('away', 'it does not answer');
          this.#after(PAUSE_MS, send);
        });
      };
      send();
    });
  }

  /** Crashes the process; messages in flight may still arrive. */
  crash(): void {
    this.#isDead = true;
    this.abandon();
  }

  #send(sent: SentGroup, answered: (written: Written) => void): void {
    const { isCut, lossy, syncMs } = this.#way;
    if (isCut) return;
    const write = (): Written => this.#disk.write(this.row.tag, this.epoch, sent);
    const fate = this.#draw.chance(lossy) ? this.#draw.pick(['question', 'answer', 'late'] as const) : 'well';
    if (fate === 'question') return;
    const lateMs = fate === 'late' ? this.#draw.random() * LATE_MS : 0;
    this.#calendar.put(this.#calendar.now + lateMs + syncMs / 2, () => {
      const written = write();
      if (fate === 'well') this.#after(syncMs / 2, () => answered(written));
    });
  }

  /** An owner that writes nothing also learns that it has lost its journal. */
  #look(): void {
    this.#after(POLL_MS, () => {
      if (this.#isDead) return;
      if (!this.#way.isCut && this.isFenced) {
        this.fail(new Error('another one has the journal'));
        this.#settled();
      }
      this.#look();
    });
  }

  #after(ms: Millis, action: () => void): void {
    this.#calendar.put(this.#calendar.now + ms, () => this.#turn(action));
  }
}
