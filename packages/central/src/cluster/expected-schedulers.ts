import type { Address, MessageOf, Millis, MissingScheduler } from '@goshawk/core';
import type { AwayOwners } from './away-owners.js';
import type { Registry, SchedulerRecord } from './registry.js';

type SharedJournal = MessageOf<'journals'>['journals'][number];

/** A scheduler with a local journal, as another one remembers it. */
export type Remembered = MessageOf<'remember'>['schedulers'][number];

interface Missed extends Remembered {
  readonly since: Millis;
  /** Undefined if this central has never seen it. */
  readonly jobs: number | undefined;
}

interface Expected {
  readonly name: string;
  readonly since: Millis;
  readonly journal: SharedJournal | undefined;
}

/** A journal in PostgreSQL without an owner is given to a scheduler after this, unless its own comes first. ms */
const UNOWNED_MS = 5 * 60_000;

/**
 * Schedulers that should be there and are not: those that central's options name, those that other schedulers remember
 * from the central before, and owners of journals that they see in their database. Central itself keeps nothing across a
 * restart.
 */
export class ExpectedSchedulers {
  readonly #registry: Registry;
  readonly #away: AwayOwners;
  readonly #graceMs: Millis;
  readonly #named: readonly string[];
  /** Journals by tag. */
  readonly #journals = new Map<string, Expected>();
  /** Schedulers with local journals that have not come, by tag. */
  readonly #missed = new Map<string, Missed>();
  /** Tags whose owners have left for good: what is in their journals has ended. */
  readonly #retired = new Set<string>();
  #startedAt: Millis = 0;

  /** @param graceMs for which nobody is missed: a lease */
  constructor(registry: Registry, away: AwayOwners, named: readonly string[], graceMs: Millis) {
    this.#registry = registry;
    this.#away = away;
    this.#named = named;
    this.#graceMs = graceMs;
  }

  start(now: Millis): void {
    this.#startedAt = now;
  }

  /** Records the journals that a scheduler sees in the shared database. */
  sees(journals: readonly SharedJournal[], now: Millis): void {
    const seen = new Set(journals.map(({ tag }) => tag));
    for (const tag of this.#journals.keys()) if (!seen.has(tag)) this.#journals.delete(tag);
    for (const journal of journals) {
      if (this.#retired.has(journal.tag)) continue;
      const known = this.#journals.get(journal.tag);
      const since = known !== undefined && !this.#isOwned(journal.tag) ? known.since : now;
      this.#journals.set(journal.tag, { name: journal.name, since, journal });
    }
  }

  /** Another scheduler remembers it from the central before. */
  remembers(scheduler: Remembered): void {
    const { name, tag } = scheduler;
    if (this.#retired.has(tag) || this.#missed.has(tag) || this.#isOwned(tag) || this.#isKnown(name)) return;
    this.#missed.set(tag, { ...scheduler, since: this.#startedAt, jobs: undefined });
  }

  /** It was away for so long that its keys go to others; its jobs are still in its journal. */
  gaveUp({ name, tag, address, jobs, heardAt }: SchedulerRecord): void {
    if (jobs > 0) this.#missed.set(tag, { name, tag, address, since: heardAt, jobs });
  }

  /** Schedulers with local journals that are missing. */
  get missed(): Iterable<Remembered> {
    return this.#missed.values();
  }

  /** The last known incarnation of a missing scheduler. */
  lastAddressOf(tag: string): Address | undefined {
    return this.#missed.get(tag)?.address;
  }

  /** Its owner has left, and nobody is to go on with its jobs. */
  retired(tag: string): void {
    this.#retired.add(tag);
    this.#journals.delete(tag);
    this.#missed.delete(tag);
  }

  /** One that is started under the name of a missing one, with another journal, replaces it. */
  enlisted(tag: string, name: string): void {
    this.#retired.delete(tag);
    for (const [other, missed] of this.#missed)
      if (other === tag || missed.name === name) this.#missed.delete(other);
  }

  missing(now: Millis): MissingScheduler[] {
    const journals = this.#unowned(now);
    const hasGrace = now - this.#startedAt < this.#graceMs;
    const missed = hasGrace ? [] : [...this.#missed.values()];
    const listed = new Set([...journals, ...missed].map(({ name }) => name));
    const named = this.#named.filter((name) => !listed.has(name) && !this.#isKnown(name));
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
        jobs: undefined,
        shared: false,
        missingMs: now - this.#startedAt,
      })),
    ];
  }

  /** Journals that any scheduler may go on with: nobody has them. */
  unowned(now: Millis): readonly SharedJournal[] {
    return this.#unowned(now).map(({ journal }) => journal!);
  }

  /** Returns the journals that no scheduler has claimed. */
  abandoned(now: Millis): readonly SharedJournal[] {
    return this.#unowned(now).flatMap(({ since, journal }) => (now - since >= UNOWNED_MS ? journal! : []));
  }

  #unowned(now: Millis): Expected[] {
    return [...this.#journals.values()].filter(
      ({ since, journal }) => now - since >= this.#graceMs && !this.#isOwned(journal!.tag),
    );
  }

  /** By a scheduler that is there, or that this central has seen and waits for. */
  #isOwned(tag: string): boolean {
    return this.#registry.schedulerTagged(tag) !== undefined || this.#away.tagged(tag) !== undefined;
  }

  #isKnown(name: string): boolean {
    return this.#registry.schedulerNamed(name) !== undefined || this.#away.named(name) !== undefined;
  }
}
