import { type Address, LIMITS, type MessageOf, type Millis, type Schedulers, sumOf } from '@goshawk/core';
import { clockWarnings } from '../cluster/clocks.js';
import {
  listSchedulers,
  notReportedRefusal,
  runningRefusal,
  takeoverRefusal,
} from '../cluster/describing.js';
import type { RememberedScheduler } from '../cluster/expected-schedulers.js';
import type { SchedulerRecord } from '../cluster/schedulers.js';
import type { LossCause } from '../contract.js';
import type { CentralState } from '../state.js';
import { refusesName, welcome } from './welcoming.js';

/** The scheduler name in a takeover request that stands for all schedulers. */
const ALL = '*';

// Handles joins, departures and losses of schedulers, and the takeover of their jobs by others.

/**
 * Returns the schedulers for clients. It omits a scheduler until the others have received its name.
 * Otherwise two schedulers might accept jobs with the same idempotency key.
 */
export function schedulerList(s: CentralState, now: Millis): Schedulers {
  const nameOf = (address: Address): string => s.env.nameOf(address);
  const isListed = (address: Address): boolean => s.publisher.hasNotified(address);
  const lists = listSchedulers(s.registry.schedulers, isListed, nameOf, now);
  return {
    ...lists,
    complete: s.leases.haveAllReported(now),
    warnings: [...(s.env.warnings?.() ?? []), ...warningsOfClocks(s)].slice(0, LIMITS.warningsMax),
    missing: s.expected.missing(now),
  };
}

function warningsOfClocks({ registry }: CentralState): string[] {
  const clocks = [...registry.schedulers.members.values()].flatMap(({ name, adopted, clock: { aheadMs } }) =>
    adopted || aheadMs === undefined ? [] : [[name, aheadMs] as const],
  );
  return clockWarnings(new Map(clocks));
}

/** Returns the current owner of the jobs with this tag. */
export function ownerOf(s: CentralState, tag: string, now: Millis): Omit<MessageOf<'ownerIs'>, 'type'> {
  const { schedulers } = s.registry;
  const gone = schedulers.byTag(tag) === undefined && s.leases.haveAllReported(now);
  return { tag, owner: schedulers.memberByTag(tag)?.address, gone };
}

/** Returns the address of the scheduler with this full name. */
export function addressOfScheduler(s: CentralState, fullName: string): Address | undefined {
  for (const address of s.registry.schedulers.members.keys())
    if (s.env.nameOf(address) === fullName) return address;
  return undefined;
}

// ---- joining

export function enlistScheduler(
  s: CentralState,
  from: Address,
  message: MessageOf<'enlist'>,
  now: Millis,
): void {
  if (s.takeovers.refuses(from, message)) return;
  if (s.copies.refuses(from, message, now)) return;
  const { name, tag, epoch, durable, draining } = message;
  const { schedulers } = s.registry;
  const holder = otherThan(schedulers.memberByTag(tag), from);
  // A higher epoch proves a takeover of the shared journal. Equal epochs mean two copies of one journal.
  const isNewer = holder !== undefined && (epoch > holder.epoch || movesOf(message) > movesOf(holder));
  if (holder !== undefined && !isNewer && refusesName(s, from, holder, tag)) return;
  const namesake = otherThan(schedulers.memberByName(name), from);
  const isTaken = namesake !== undefined && namesake !== holder;
  if (isTaken && refusesName(s, from, namesake)) return;
  checkJournalRollback(s, from, message);
  const previousOwner = schedulers.byTag(tag);
  if (holder !== undefined) loseScheduler(s, holder, 'replaced', now);
  if (isTaken) loseScheduler(s, namesake, 'replaced', now);
  for (const { address } of schedulers.removeReplaced(tag, name)) ownerLost(s, address);
  const known = schedulers.members.get(from);
  if (known?.durable !== durable || known.draining !== draining) s.publisher.ownersChanged();
  if (known === undefined) {
    s.publisher.ownerJoined(from);
    if (epoch === 0 && schedulers.byTag(tag) === undefined) s.publisher.hideUntilNotified(from);
  }
  // A returning scheduler sends its needs again. The old ones are withdrawn, because their jobs may have ended.
  // A scheduler that only reports a change of `draining` or `durable` does not send them again.
  const isReturn = known !== undefined && known.draining === draining && known.durable === durable;
  if (isReturn) s.dispatcher.withdrawAll(from, now);
  schedulers.rehome(from, message, now);
  reportScheduler(s, from, message, known, previousOwner);
  s.dispatcher.rehome(tag, from, message.previousIncarnations, now);
  welcome(s, from);
  s.publisher.addNewcomer(from);
  s.publisher.publishSoon(now);
}

function reportScheduler(
  s: CentralState,
  from: Address,
  { name, tag, epoch, adopted, durable }: MessageOf<'enlist'>,
  known: SchedulerRecord | undefined,
  previousOwner: SchedulerRecord | undefined,
): void {
  if (durable) s.expected.schedulerJoined(tag, name);
  else if (known?.durable) s.expected.retire(tag);
  if (known !== undefined) return;
  const address = s.env.nameOf(from);
  s.env.eventOccurred?.({
    kind: 'scheduler-joined',
    scheduler: name,
    tag,
    epoch,
    address,
    adopted,
  });
  if (adopted && previousOwner?.adopted !== true)
    s.env.eventOccurred?.({ kind: 'takeover-completed', scheduler: name, tag, epoch });
}

function otherThan(scheduler: SchedulerRecord | undefined, from: Address): SchedulerRecord | undefined {
  return scheduler?.address === from ? undefined : scheduler;
}

/**
 * Reports a scheduler whose journal lacks its last known incarnation. This shows that an older copy of the
 * journal was restored.
 */
function checkJournalRollback(
  s: CentralState,
  from: Address,
  { name, tag, previousIncarnations }: MessageOf<'enlist'>,
): void {
  const known = s.registry.schedulers.byTag(tag);
  const last = known?.address ?? s.expected.lastAddressOf(tag);
  if (last === undefined || last === from || previousIncarnations.includes(last)) return;
  s.env.journalRolledBack?.(name);
}

/** Records schedulers that were members under the previous central. */
export function restoreSchedulers(s: CentralState, remembered: readonly RememberedScheduler[]): void {
  for (const scheduler of remembered) {
    const present = s.registry.schedulers.memberByTag(scheduler.tag);
    if (present === undefined) s.expected.addMissing(scheduler);
    else if (isRolledBack(s, present, scheduler.address)) s.env.journalRolledBack?.(present.name);
  }
}

/** Returns whether the scheduler's journal lacks this incarnation. True only once for each. */
function isRolledBack(
  s: CentralState,
  { tag, address, previousIncarnations }: SchedulerRecord,
  last: Address,
): boolean {
  if (last === address || previousIncarnations.includes(last)) return false;
  const found = `${tag} ${address} ${last}`;
  if (s.rolledBack.has(found)) return false;
  s.rolledBack.add(found);
  return true;
}

// ---- takeovers

/** Handles an operator's request that another scheduler take over the jobs of the named one. */
export function takeOver(
  s: CentralState,
  from: Address,
  { request, scheduler: name }: MessageOf<'takeOverFrom'>,
  now: Millis,
): void {
  const { schedulers } = s.registry;
  const unowned = s.expected.unowned(now);
  const answer = (value: Omit<MessageOf<'takeover'>['value'], 'scheduler'>): void =>
    s.env.send(from, { type: 'takeover', request, value: { scheduler: name, ...value } });
  if (name === ALL) {
    const away = schedulers.away.filter(({ epoch }) => epoch > 0);
    return answer(reassign(s, away, unowned, now));
  }
  const copied = s.copies.tagOf(name, now);
  if (copied !== undefined) return takeOverByCopy(s, from, request, name, copied);
  const gone = schedulers.byName(name);
  const journals = unowned.filter((journal) => journal.name === name);
  if (gone === undefined && journals.length > 0) return answer(reassign(s, [], journals, now));
  const heirs = gone === undefined ? schedulers.heirsOf(name) : [];
  // An earlier copy of the request, at this central or a former one, has had its effect.
  if (heirs.length > 0) return answer({ jobs: sumOf(heirs, ({ jobs }) => jobs), schedulers: heirs.length });
  if (gone === undefined && !s.leases.haveAllReported(now))
    return s.env.send(from, notReportedRefusal(request, `scheduler ${name}`));
  if (gone === undefined || gone.epoch === 0) {
    const isMissing = s.expected.missing(now).some((missing) => missing.name === name);
    return s.env.send(from, takeoverRefusal(request, name, gone !== undefined || isMissing));
  }
  if (gone.awaySince === undefined) loseScheduler(s, gone, 'takeover', now);
  answer(reassign(s, [gone], [], now));
}

/** Lets a copy of a data folder continue the jobs of the original, unless that one is running. */
function takeOverByCopy(s: CentralState, from: Address, request: number, name: string, tag: string): void {
  const holder = s.registry.schedulers.byTag(tag);
  if (holder !== undefined && holder.awaySince === undefined)
    return s.env.send(from, runningRefusal(request, holder.name, s.env.nameOf(holder.address)));
  s.copies.confirm(tag);
  const value = { scheduler: name, jobs: holder?.jobs ?? 0, schedulers: 1 };
  const jobsUnknown = holder === undefined || undefined;
  s.env.send(from, { type: 'takeover', request, value: { ...value, jobsUnknown } });
}

/**
 * Assigns the jobs of these schedulers, and journals of unknown schedulers, to other schedulers.
 *
 * @returns what was assigned
 */
function reassign(
  s: CentralState,
  gone: readonly SchedulerRecord[],
  unowned: readonly { readonly tag: string }[],
  now: Millis,
): Omit<MessageOf<'takeover'>['value'], 'scheduler'> {
  for (const { tag } of [...gone, ...unowned]) s.takeovers.force(tag);
  s.takeovers.requestDue(now);
  return {
    jobs: sumOf(gone, ({ jobs }) => jobs),
    schedulers: gone.length + unowned.length,
    jobsUnknown: unowned.length > 0 || undefined,
  };
}

/** Records the journals that a scheduler sees in the shared database. */
export function updateJournals(
  s: CentralState,
  from: Address,
  { journals }: MessageOf<'journals'>,
  now: Millis,
): void {
  if (s.registry.schedulers.members.has(from)) s.expected.updateJournals(journals, now);
}

// ---- leaving

export function schedulerLeft(s: CentralState, scheduler: SchedulerRecord, now: Millis): void {
  const { name, tag, jobs } = scheduler;
  s.env.eventOccurred?.({ kind: 'scheduler-left', scheduler: name, tag, jobs });
  scheduler.hasLeft = true;
  removeScheduler(s, scheduler, now);
}

/** @param givenUp schedulers that have been away for too long */
export function schedulerLeasesEnded(
  s: CentralState,
  schedulers: readonly SchedulerRecord[],
  givenUp: readonly SchedulerRecord[],
  now: Millis,
): void {
  for (const scheduler of schedulers) loseScheduler(s, scheduler, 'lease', now);
  s.takeovers.requestDue(now);
  reportMissing(s, now);
  for (const scheduler of givenUp) {
    const { address, name, tag, jobs } = scheduler;
    s.expected.addGivenUp(scheduler);
    s.env.eventOccurred?.({ kind: 'scheduler-given-up', scheduler: name, tag, jobs });
    ownerLost(s, address);
    s.publisher.ownersChanged();
    s.publisher.publishSoon(now);
  }
}

/** Reports the missing schedulers if they differ from the last report. */
function reportMissing(s: CentralState, now: Millis): void {
  const missing = s.expected.missing(now);
  const schedulers = missing.map(({ name }) => name);
  const text = schedulers.join();
  if (text === s.missingReported) return;
  s.missingReported = text;
  const unlisted = missing.filter(({ takenOver }) => !takenOver);
  s.env.eventOccurred?.({
    kind: 'schedulers-missing',
    schedulers,
    unlisted: unlisted.map(({ name }) => name),
  });
}

function loseScheduler(s: CentralState, lost: SchedulerRecord, cause: LossCause, now: Millis): void {
  const { name: scheduler, tag, jobs } = lost;
  const address = s.env.nameOf(lost.address);
  const silentMs = now - lost.lastSeenAt;
  s.counters.schedulersLost++;
  s.env.eventOccurred?.({
    kind: 'scheduler-lost',
    scheduler,
    tag,
    address,
    cause,
    silentMs,
    jobs,
  });
  removeScheduler(s, lost, now);
}

function removeScheduler(s: CentralState, scheduler: SchedulerRecord, now: Millis): void {
  const { address, durable } = scheduler;
  s.registry.schedulers.leave(scheduler, now);
  s.expected.schedulerGone(scheduler);
  s.publisher.ownersChanged();
  s.dispatcher.removeOwner(address, now);
  if (durable) s.publisher.ownerAway(address);
  else ownerLost(s, address);
  s.outlook.left(address, now);
  s.publisher.publishSoon(now);
}

/** Releases the name, keys and jobs of a lost owner. */
function ownerLost(s: CentralState, address: Address): void {
  s.publisher.ownerLost(address);
  s.dispatcher.forgetOwner(address);
}

function movesOf({ lineage }: Pick<SchedulerRecord, 'lineage'>): number {
  return lineage?.moves ?? 0;
}
