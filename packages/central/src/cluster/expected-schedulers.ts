import type { Address, MessageOf, Millis, MissingScheduler } from '@goshawk/core';
import type { SchedulerRecord, Schedulers } from './schedulers.js';

type SharedJournal = MessageOf<'journals'>['journals'][number];

/** A scheduler with a local journal. Other schedulers store its name, and report it to the next central. */
export type RememberedScheduler = MessageOf<'remember'>['schedulers'][number];

interface MissingLocal extends RememberedScheduler {
  readonly since: Millis;
  /** Number of its jobs; undefined if this central has never seen the scheduler. */
  readonly jobs: number | undefined;
}

interface ListedJournal {
  readonly name: string;
  readonly since: Millis;
  readonly journal: SharedJournal | undefined;
}

/** Time in ms for the last owner of a PostgreSQL journal to return before another scheduler gets the journal. */
const ABANDONED_AFTER_MS = 5 * 60_000;

/**
 * Finds schedulers that should be present but are not. Central stores nothing across a restart. It gets their
 * names from its options, from other schedulers, and from the journals in the shared database.
 */
export class ExpectedSchedulers {
  readonly #schedulers: Schedulers;
  readonly #graceMs: Millis;
  readonly #configuredNames: readonly string[];
  /** Journals by tag. */
  readonly #journals = new Map<string, ListedJournal>();
  /** Missing schedulers with local journals, by tag. */
  readonly #missingLocal = new Map<string, MissingLocal>();
  /** Tags of owners that have left for good, after all jobs in their journals had ended. */
  readonly #retired = new Set<string>();
  /** When central last heard from configured schedulers that it has lost, by name. */
  readonly #lastSeen = new Map<string, Millis>();
  #startedAt: Millis = 0;

  /** @param graceMs time after central's start before a scheduler counts as missing: one lease */
  constructor(schedulers: Schedulers, named: readonly string[], graceMs: Millis) {
    this.#schedulers = schedulers;
    this.#configuredNames = named;
    this.#graceMs = graceMs;
  }

  start(now: Millis): void {
    this.#startedAt = now;
  }

  /** Records the journals that a scheduler sees in the shared database. */
  updateJournals(journals: readonly SharedJournal[], now: Millis): void {
    const seen = new Set(journals.map(({ tag }) => tag));
    for (const tag of this.#journals.keys()) if (!seen.has(tag)) this.#journals.delete(tag);
    for (const journal of journals) {
      if (this.#retired.has(journal.tag)) continue;
      const known = this.#journals.get(journal.tag);
      // A scheduler that has just claimed it needs time to read it before it enlists.
      const isUnchanged = known?.journal?.epoch === journal.epoch;
      const since = isUnchanged && !this.#isOwned(journal) ? known.since : now;
      this.#journals.set(journal.tag, { name: journal.name, since, journal });
    }
  }

  /** Records a scheduler that was a member under the previous central, as another scheduler reports. */
  addMissing(scheduler: RememberedScheduler): void {
    const { name, tag } = scheduler;
    const isKnown = this.#schedulers.byTag(tag) !== undefined || this.#isKnown(name);
    if (this.#retired.has(tag) || this.#missingLocal.has(tag) || isKnown) return;
    this.#missingLocal.set(tag, { ...scheduler, since: this.#startedAt, jobs: undefined });
  }

  /** Records a scheduler that central gave up. Others get its keys, but its jobs are still in its journal. */
  addGivenUp({ name, tag, address, jobs, lastSeenAt }: SchedulerRecord): void {
    if (jobs > 0) this.#missingLocal.set(tag, { name, tag, address, since: lastSeenAt, jobs });
  }

  /** Records the loss of a scheduler, whose record ends when another takes over its jobs. */
  schedulerGone({ name, lastSeenAt }: SchedulerRecord): void {
    if (this.#configuredNames.includes(name)) this.#lastSeen.set(name, lastSeenAt);
  }

  /** Schedulers with local journals that are missing. */
  get missingLocal(): Iterable<RememberedScheduler> {
    return this.#missingLocal.values();
  }

  /** Returns the last known incarnation of a missing scheduler. */
  lastAddressOf(tag: string): Address | undefined {
    return this.#missingLocal.get(tag)?.address;
  }

  /** Records that an owner has left permanently. All of its jobs have ended, so they need no other owner. */
  retire(tag: string): void {
    this.#retired.add(tag);
    this.#journals.delete(tag);
    this.#missingLocal.delete(tag);
  }

  /**
   * Records that a scheduler joined. It replaces a missing scheduler of the same name with another journal.
   */
  schedulerJoined(tag: string, name: string): void {
    this.#retired.delete(tag);
    for (const [other, missed] of this.#missingLocal)
      if (other === tag || missed.name === name) this.#missingLocal.delete(other);
  }

  missing(now: Millis): MissingScheduler[] {
    const journals = this.#unowned(now);
    const hasGrace = now - this.#startedAt < this.#graceMs;
    const missed = hasGrace ? [] : [...this.#missingLocal.values()];
    const listed = new Set([...journals, ...missed].map(({ name }) => name));
    const named = this.#configuredNames.filter((name) => !listed.has(name) && !this.#isKnown(name));
    return [
      ...journals.map(({ name, since, journal }) => ({
        name,
        tag: journal!.tag,
        jobs: undefined,
        shared: true,
        missingMs: now - since,
      })),
      ...missed.map(({ name, tag, jobs, since }) => ({
        name,
        tag,
        jobs,
        shared: false,
        missingMs: now - since,
      })),
      ...(hasGrace ? [] : named).map((name) => ({
        name,
        tag: undefined,
        // A lost scheduler without a record has no jobs: they have another owner, or have ended.
        jobs: this.#lastSeen.has(name) ? 0 : undefined,
        shared: false,
        missingMs: now - (this.#lastSeen.get(name) ?? this.#startedAt),
        // Without an heir, ended jobs may still be in its journal, which nobody lists.
        takenOver: this.#schedulers.heirsOf(name).length > 0,
      })),
    ];
  }

  /** Returns journals without an owner, which any scheduler may take over. */
  unowned(now: Millis): readonly SharedJournal[] {
    return this.#unowned(now).map(({ journal }) => journal!);
  }

  /** Returns journals without an owner for at least ABANDONED_AFTER_MS. Another scheduler gets these. */
  abandoned(now: Millis): readonly SharedJournal[] {
    return this.#unowned(now).flatMap(({ since, journal }) =>
      now - since >= ABANDONED_AFTER_MS ? journal! : [],
    );
  }

  /** Returns journals without an owner; none until all owners have had time to join after central's start. */
  #unowned(now: Millis): ListedJournal[] {
    if (now - this.#startedAt < this.#graceMs) return [];
    return [...this.#journals.values()].filter(({ journal }) => !this.#isOwned(journal!));
  }

  /** Returns whether the owner is present, or disconnected without another scheduler having claimed the journal. */
  #isOwned({ tag, epoch }: SharedJournal): boolean {
    const owner = this.#schedulers.byTag(tag);
    return owner !== undefined && (owner.awaySince === undefined || owner.epoch >= epoch);
  }

  #isKnown(name: string): boolean {
    return this.#schedulers.byName(name) !== undefined;
  }

  /** Returns the schedulers with local journals. Other schedulers store these names for the next central. */
  remembered(): RememberedScheduler[] {
    const known = this.#schedulers.all
      .filter(({ durable, epoch, adopted }) => durable && epoch === 0 && !adopted)
      .map(({ name, tag, address }) => ({ name, tag, address }));
    const tags = new Set(known.map(({ tag }) => tag));
    const missed = Array.from(this.missingLocal, ({ name, tag, address }) => ({ name, tag, address }));
    return [...known, ...missed.filter(({ tag }) => !tags.has(tag))];
  }
}
