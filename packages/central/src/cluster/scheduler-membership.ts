import { type Address, type MessageOf, type Millis, type Schedulers, sumOf } from '@goshawk/core';
import type { CentralCounters, CentralEnvironment, LossCause } from '../contract.js';
import { Copies } from './copies.js';
import { listSchedulers, runningRefusal, takeoverRefusal } from './describing.js';
import { ExpectedSchedulers, type RememberedScheduler } from './expected-schedulers.js';
import type { Leases } from './leases.js';
import type { MembershipParts } from './membership-parts.js';
import type { NameConflicts } from './name-conflicts.js';
import type { Publisher } from './publisher.js';
import type { Registry } from './registry.js';
import type { SchedulerRecord } from './schedulers.js';
import { Takeovers } from './takeovers.js';

/** The part of the dispatcher that the membership of schedulers uses. */
export interface OwnerDispatch {
  withdrawAll(owner: Address, now: Millis): void;
  removeOwner(owner: Address, now: Millis): void;
  /** Called whenever the scheduler with this tag enlists; its address may have changed. */
  rehome(tag: string, address: Address, formers: readonly Address[], now: Millis): void;
  /** Called when no scheduler will continue the jobs of the owner. */
  forgetOwner(owner: Address): void;
}

/** The scheduler name in a takeover request that stands for all schedulers. */
const ALL = '*';

/** Handles joins, departures and losses of schedulers, and the takeover of their jobs by others. */
export class SchedulerMembership {
  readonly expected: ExpectedSchedulers;
  readonly #env: CentralEnvironment;
  readonly #counters: CentralCounters;
  readonly #registry: Registry;
  readonly #publisher: Publisher;
  readonly #leases: Leases;
  readonly #names: NameConflicts;
  readonly #welcome: MembershipParts['welcome'];
  readonly #dispatch: OwnerDispatch;
  readonly #takeovers: Takeovers;
  readonly #copies: Copies;
  /** Reported journals that were restored from an older copy: tag, present address and missing address. */
  readonly #rolledBack = new Set<string>();
  /** Names of the missing schedulers in the last report, to report only changes. */
  #missing = '';

  /** @param expected names of schedulers that should be present */
  constructor(parts: MembershipParts, dispatch: OwnerDispatch, expected: readonly string[]) {
    this.#env = parts.env;
    this.#counters = parts.counters;
    this.#registry = parts.registry;
    this.#publisher = parts.publisher;
    this.#leases = parts.leases;
    this.#names = parts.names;
    this.#welcome = parts.welcome;
    this.#dispatch = dispatch;
    const { schedulers } = parts.registry;
    const { leaseMs } = parts.cutoff.settings.timings;
    this.expected = new ExpectedSchedulers(schedulers, expected, leaseMs);
    this.#takeovers = new Takeovers(parts.env, schedulers, this.expected, parts.leases, leaseMs);
    this.#copies = new Copies(parts.env, schedulers, this.expected, parts.leases, leaseMs);
  }

  /**
   * Returns the schedulers for clients. It omits a scheduler until the others have received its name.
   * Otherwise two schedulers might accept jobs with the same idempotency key.
   */
  list(now: Millis): Schedulers {
    const nameOf = (address: Address): string => this.#env.nameOf(address);
    const isListed = (address: Address): boolean => this.#publisher.hasNotified(address);
    const lists = listSchedulers(this.#registry.schedulers, isListed, nameOf, now);
    return {
      ...lists,
      complete: this.#leases.haveAllReported(now),
      warnings: this.#env.warnings?.() ?? [],
      missing: this.expected.missing(now),
    };
  }

  /** Returns the current owner of the jobs with this tag. */
  ownerOf(tag: string, now: Millis): Omit<MessageOf<'ownerIs'>, 'type'> {
    const { schedulers } = this.#registry;
    const gone = schedulers.byTag(tag) === undefined && this.#leases.haveAllReported(now);
    return { tag, owner: schedulers.memberByTag(tag)?.address, gone };
  }

  /** Returns the address of the scheduler with this full name. */
  addressOf(fullName: string): Address | undefined {
    for (const address of this.#registry.schedulers.members.keys())
      if (this.#env.nameOf(address) === fullName) return address;
    return undefined;
  }

  // ---- joining

  enlist(from: Address, message: MessageOf<'enlist'>, now: Millis): void {
    if (this.#takeovers.refuses(from, message)) return;
    if (this.#copies.refuses(from, message, now)) return;
    const { name, tag, epoch, durable, draining } = message;
    const { schedulers } = this.#registry;
    const holder = this.#other(schedulers.memberByTag(tag), from);
    // A higher epoch proves a takeover of the shared journal. Equal epochs mean two copies of one journal.
    const isNewer = holder !== undefined && (epoch > holder.epoch || movesOf(message) > movesOf(holder));
    if (holder !== undefined && !isNewer && this.#names.refuses(from, holder, now, tag)) return;
    const namesake = this.#other(schedulers.memberByName(name), from);
    const isTaken = namesake !== undefined && namesake !== holder;
    if (isTaken && this.#names.refuses(from, namesake, now)) return;
    this.#checkJournalRollback(from, message);
    const previousOwner = schedulers.byTag(tag);
    if (holder !== undefined) this.#lose(holder, 'replaced', now);
    if (isTaken) this.#lose(namesake, 'replaced', now);
    for (const { address } of schedulers.removeReplaced(tag, name)) this.#ownerLost(address);
    const known = schedulers.members.get(from);
    if (known?.durable !== durable || known.draining !== draining) this.#publisher.ownersChanged();
    if (known === undefined) {
      this.#publisher.ownerJoined(from);
      if (epoch === 0 && schedulers.byTag(tag) === undefined) this.#publisher.hideUntilNotified(from);
    }
    // A returning scheduler sends its needs again. The old ones are withdrawn, because their jobs may have ended.
    // A scheduler that only reports a change of `draining` or `durable` does not send them again.
    const isReturn = known !== undefined && known.draining === draining && known.durable === durable;
    if (isReturn) this.#dispatch.withdrawAll(from, now);
    schedulers.rehome(from, message, now);
    this.#reportScheduler(from, message, known, previousOwner);
    this.#dispatch.rehome(tag, from, message.previousIncarnations, now);
    this.#welcome(from);
    this.#publisher.addNewcomer(from);
    this.#publisher.publishSoon(now);
  }

  #reportScheduler(
    from: Address,
    { name, tag, epoch, adopted, durable }: MessageOf<'enlist'>,
    known: SchedulerRecord | undefined,
    previousOwner: SchedulerRecord | undefined,
  ): void {
    if (durable) this.expected.schedulerJoined(tag, name);
    else if (known?.durable) this.expected.retire(tag);
    if (known !== undefined) return;
    const address = this.#env.nameOf(from);
    this.#env.eventOccurred?.({
      kind: 'scheduler-joined',
      scheduler: name,
      tag,
      epoch,
      address,
      adopted,
    });
    if (adopted && previousOwner?.adopted !== true)
      this.#env.eventOccurred?.({ kind: 'takeover-completed', scheduler: name, tag, epoch });
  }

  #other(scheduler: SchedulerRecord | undefined, from: Address): SchedulerRecord | undefined {
    return scheduler?.address === from ? undefined : scheduler;
  }

  /**
   * Reports a scheduler whose journal lacks its last known incarnation. This shows that an older copy of the
   * journal was restored.
   */
  #checkJournalRollback(from: Address, { name, tag, previousIncarnations }: MessageOf<'enlist'>): void {
    const known = this.#registry.schedulers.byTag(tag);
    const last = known?.address ?? this.expected.lastAddressOf(tag);
    if (last === undefined || last === from || previousIncarnations.includes(last)) return;
    this.#env.journalRolledBack?.(name);
  }

  /** Returns the schedulers with local journals. Other schedulers store these names for the next central. */
  remembered(): RememberedScheduler[] {
    const known = this.#registry.schedulers.all
      .filter(({ durable, epoch, adopted }) => durable && epoch === 0 && !adopted)
      .map(({ name, tag, address }) => ({ name, tag, address }));
    const tags = new Set(known.map(({ tag }) => tag));
    const missed = Array.from(this.expected.missingLocal, ({ name, tag, address }) => ({
      name,
      tag,
      address,
    }));
    return [...known, ...missed.filter(({ tag }) => !tags.has(tag))];
  }

  /** Records schedulers that were members under the previous central. */
  restore(remembered: readonly RememberedScheduler[]): void {
    for (const scheduler of remembered) {
      const present = this.#registry.schedulers.memberByTag(scheduler.tag);
      if (present === undefined) this.expected.addMissing(scheduler);
      else if (this.#isRolledBack(present, scheduler.address)) this.#env.journalRolledBack?.(present.name);
    }
  }

  /** Returns whether the scheduler's journal lacks this incarnation. True only once for each. */
  #isRolledBack({ tag, address, previousIncarnations }: SchedulerRecord, last: Address): boolean {
    if (last === address || previousIncarnations.includes(last)) return false;
    const found = `${tag} ${address} ${last}`;
    if (this.#rolledBack.has(found)) return false;
    this.#rolledBack.add(found);
    return true;
  }

  // ---- takeovers

  /** Handles an operator's request that another scheduler take over the jobs of the named one. */
  takeOver(from: Address, { request, scheduler: name }: MessageOf<'takeOverFrom'>, now: Millis): void {
    const { schedulers } = this.#registry;
    const unowned = this.expected.unowned(now);
    const answer = (value: Omit<MessageOf<'takeover'>['value'], 'scheduler'>): void =>
      this.#env.send(from, { type: 'takeover', request, value: { scheduler: name, ...value } });
    if (name === ALL) {
      const away = schedulers.away.filter(({ epoch }) => epoch > 0);
      return answer(this.#reassign(away, unowned, now));
    }
    const copied = this.#copies.tagOf(name, now);
    if (copied !== undefined) return this.#takeOverByCopy(from, request, name, copied);
    const gone = schedulers.byName(name);
    const journals = unowned.filter((journal) => journal.name === name);
    if (gone === undefined && journals.length > 0) return answer(this.#reassign([], journals, now));
    if (gone === undefined || gone.epoch === 0) {
      const isMissing = this.expected.missing(now).some((missing) => missing.name === name);
      return this.#env.send(from, takeoverRefusal(request, name, gone !== undefined || isMissing));
    }
    if (gone.awaySince === undefined) this.#lose(gone, 'takeover', now);
    answer(this.#reassign([gone], [], now));
  }

  /** Lets a copy of a data folder continue the jobs of the original, unless that one is running. */
  #takeOverByCopy(from: Address, request: number, name: string, tag: string): void {
    const holder = this.#registry.schedulers.byTag(tag);
    if (holder !== undefined && holder.awaySince === undefined)
      return this.#env.send(from, runningRefusal(request, holder.name, this.#env.nameOf(holder.address)));
    this.#copies.confirm(tag);
    const value = { scheduler: name, jobs: holder?.jobs ?? 0, schedulers: 1 };
    const jobsUnknown = holder === undefined || undefined;
    this.#env.send(from, { type: 'takeover', request, value: { ...value, jobsUnknown } });
  }

  /**
   * Assigns the jobs of these schedulers, and journals of unknown schedulers, to other schedulers.
   *
   * @returns what was assigned
   */
  #reassign(
    gone: readonly SchedulerRecord[],
    unowned: readonly { readonly tag: string }[],
    now: Millis,
  ): Omit<MessageOf<'takeover'>['value'], 'scheduler'> {
    for (const { tag } of [...gone, ...unowned]) this.#takeovers.force(tag);
    this.#takeovers.requestDue(now);
    return {
      jobs: sumOf(gone, ({ jobs }) => jobs),
      schedulers: gone.length + unowned.length,
      jobsUnknown: unowned.length > 0 || undefined,
    };
  }

  /** Records the journals that a scheduler sees in the shared database. */
  updateJournals(from: Address, { journals }: MessageOf<'journals'>, now: Millis): void {
    if (this.#registry.schedulers.members.has(from)) this.expected.updateJournals(journals, now);
  }

  // ---- leaving

  left(scheduler: SchedulerRecord, now: Millis): void {
    const { name, tag, jobs } = scheduler;
    this.#env.eventOccurred?.({ kind: 'scheduler-left', scheduler: name, tag, jobs });
    scheduler.hasLeft = true;
    this.#remove(scheduler, now);
  }

  /** @param givenUp schedulers that have been away for too long */
  leasesEnded(
    schedulers: readonly SchedulerRecord[],
    givenUp: readonly SchedulerRecord[],
    now: Millis,
  ): void {
    for (const scheduler of schedulers) this.#lose(scheduler, 'lease', now);
    this.#takeovers.requestDue(now);
    this.#reportMissing(now);
    for (const scheduler of givenUp) {
      const { address, name, tag, jobs } = scheduler;
      this.expected.addGivenUp(scheduler);
      this.#env.eventOccurred?.({ kind: 'scheduler-given-up', scheduler: name, tag, jobs });
      this.#ownerLost(address);
      this.#publisher.ownersChanged();
      this.#publisher.publishSoon(now);
    }
  }

  /** Reports the missing schedulers if they differ from the last report. */
  #reportMissing(now: Millis): void {
    const missing = this.expected.missing(now).map(({ name }) => name);
    const text = missing.join();
    if (text === this.#missing) return;
    this.#missing = text;
    this.#env.eventOccurred?.({ kind: 'schedulers-missing', schedulers: missing });
  }

  #lose(lost: SchedulerRecord, cause: LossCause, now: Millis): void {
    const { name: scheduler, tag, jobs } = lost;
    const address = this.#env.nameOf(lost.address);
    const silentMs = now - lost.lastSeenAt;
    this.#counters.schedulersLost++;
    this.#env.eventOccurred?.({
      kind: 'scheduler-lost',
      scheduler,
      tag,
      address,
      cause,
      silentMs,
      jobs,
    });
    this.#remove(lost, now);
  }

  #remove(scheduler: SchedulerRecord, now: Millis): void {
    const { address, durable } = scheduler;
    this.#registry.schedulers.leave(scheduler, now);
    this.#publisher.ownersChanged();
    this.#dispatch.removeOwner(address, now);
    if (durable) this.#publisher.ownerAway(address);
    else this.#ownerLost(address);
    this.#publisher.publishSoon(now);
  }

  /** Releases the name, keys and jobs of a lost owner. */
  #ownerLost(address: Address): void {
    this.#publisher.ownerLost(address);
    this.#dispatch.forgetOwner(address);
  }
}

function movesOf({ lineage }: Pick<SchedulerRecord, 'lineage'>): number {
  return lineage?.moves ?? 0;
}
