import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { CentralEnvironment } from '../contract.js';
import type { ExpectedSchedulers } from './expected-schedulers.js';
import type { Leases } from './leases.js';
import type { SchedulerRecord, Schedulers } from './schedulers.js';

/** A scheduler with a copy of a journal that asks to continue it. */
interface Asking {
  readonly name: string;
  readonly tag: string;
  readonly at: Millis;
}

/**
 * Decides whether a scheduler with a copy of a data folder may continue its jobs. The silence of the original proves
 * nothing: it may be suspended or partitioned, and then runs and accepts jobs that the copy lacks. A copy is admitted if
 * the original has stopped in an orderly way before the copy was made and has not started since, or if an operator says so
 * and central does not hear the original.
 */
export class Copies {
  readonly #env: Pick<CentralEnvironment, 'send' | 'nameOf' | 'journalMoves' | 'journalMoved'>;
  readonly #schedulers: Schedulers;
  readonly #expected: ExpectedSchedulers;
  readonly #leases: Leases;
  readonly #leaseMs: Millis;
  /** How often a copy of the journal was admitted, by tag. A scheduler with a lower number has been replaced. */
  readonly #moves: Map<string, number>;
  /** Refused copies, by tag. */
  readonly #asking = new Map<string, Asking>();
  /** Tags for which an operator lets the copy continue. */
  readonly #confirmed = new Set<string>();

  constructor(
    env: Pick<CentralEnvironment, 'send' | 'nameOf' | 'journalMoves' | 'journalMoved'>,
    schedulers: Schedulers,
    expected: ExpectedSchedulers,
    leases: Leases,
    leaseMs: Millis,
  ) {
    this.#env = env;
    this.#moves = new Map(env.journalMoves);
    this.#schedulers = schedulers;
    this.#expected = expected;
    this.#leases = leases;
    this.#leaseMs = leaseMs;
  }

  /** Returns whether the sender may not continue the journal. If so, notifies the sender. */
  refuses(from: Address, message: MessageOf<'enlist'>, now: Millis): boolean {
    const { tag, lineage } = message;
    const moves = lineage?.moves ?? 0;
    const highest = this.#moves.get(tag) ?? 0;
    const holder = this.#schedulers.byTag(tag);
    if (lineage?.copyOf === undefined) {
      if (moves < highest && holder?.address !== from) {
        this.#env.send(from, { type: 'superseded', epoch: highest });
        return true;
      }
      if (moves > highest) this.#moved(tag, moves);
      return false;
    }
    if (holder?.address === from) return false;
    if (!this.#isProven(message, holder, now)) {
      this.#asking.set(tag, { name: message.name, tag, at: now });
      const name = holder === undefined ? '' : this.#env.nameOf(holder.address);
      this.#env.send(from, { type: 'nameTaken', holder: name, tag, needsTakeover: true });
      return true;
    }
    this.#asking.delete(tag);
    this.#confirmed.delete(tag);
    this.#moved(tag, Math.max(highest, moves + 1));
    return false;
  }

  #moved(tag: string, moves: number): void {
    this.#moves.set(tag, moves);
    this.#env.journalMoved?.(tag, moves);
  }

  /** Returns the tag of a refused copy that was started with this name, or whose original has it. */
  tagOf(name: string, now: Millis): string | undefined {
    for (const { name: own, tag, at } of this.#asking.values()) {
      const isCurrent = now - at <= this.#leaseMs;
      if (isCurrent && (own === name || this.#schedulers.byTag(tag)?.name === name)) return tag;
    }
    return undefined;
  }

  /** Lets the copy continue when it asks next, as an operator demands. */
  confirm(tag: string): void {
    this.#confirmed.add(tag);
  }

  #isProven(
    { tag, lineage, previousIncarnations }: MessageOf<'enlist'>,
    holder: SchedulerRecord | undefined,
    now: Millis,
  ): boolean {
    if (holder !== undefined && holder.awaySince === undefined) return false;
    if (this.#confirmed.has(tag)) return true;
    // By then, a running original has registered.
    if (lineage?.copyOf === 'running' || !this.#leases.haveAllReported(now)) return false;
    const last = holder === undefined ? this.#expected.lastAddressOf(tag) : holder.address;
    if (last === undefined) return true;
    // The original may have started again after the copy was made.
    if (lineage?.copyOf === 'stopped' && !previousIncarnations.includes(last)) return false;
    return holder === undefined ? lineage?.copyOf === 'stopped' : holder.hasLeft;
  }
}
