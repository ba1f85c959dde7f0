import {
  type Address,
  type CentralLine,
  type Environment,
  fits,
  type MessageOf,
  type Millis,
  type NeedView,
  type PolicySettings,
  patienceMsOf,
  pulls,
  reserveWindowMs,
} from '@goshawk/core';
import type { WorkerRecord } from '../registry.js';
import { LateTurns, lateFrom } from './lateness.js';
import { inLine, ownerNamed } from './line.js';
import { LongLimit } from './long-limit.js';
import { LongTimes } from './long-times.js';
import { isDemanding, type Need, type NeedKind, Needs, overtakes } from './needs.js';
import type { Pullers } from './occupied.js';
import { freeSlots, isDoubtful, matchesOnTheWay, Pool, type Puller, remindOwners, spareOf } from './pool.js';
import { Undecided } from './undecided.js';

/**
 * Brings together the workers that have a free slot and the jobs that need one. The tasks stay with their
 * owners, who bind one when they hear of the worker; so binding is as late as it can be, nothing waits in the
 * queues of workers, and nothing has to be stolen.
 *
 * A free slot goes to a job that has waited longer than anyone should; else to the first short job in order, or to a
 * late one of less than twice its remaining work; or, while fewer long tasks run than the limit, to the first long one, if
 * no short one waits or the long one's remaining work is less than so many times that of the short one; else it waits
 * here. While a short one is late, what comes in place of the long one is the late job, short or long, that came first, if
 * its own remaining work is not more than that either.
 *
 * Of jobs whose pilots have not told, the small ones come among the short ones by what tasks ran for lately, as long as
 * they take less than the reserve, or what they take is not of it; the large ones, that of the fewest tasks first, take
 * what nobody else does, and nothing of the reserve.
 */
export class Matcher {
  readonly #env: Environment<'match'>;
  readonly #policy: PolicySettings;
  readonly #needs: Readonly<Record<NeedKind, Needs>>;
  readonly #undecided: Undecided;
  /** Estimates may come late: the reserve follows from what short tasks took, not from what they were to take. */
  readonly #countsWhatRan: boolean;
  readonly #pool = new Pool();
  readonly #limit: LongLimit;
  readonly #lateTurns: LateTurns;
  /** Undefined where owners are believed. */
  readonly #longTimes: LongTimes | undefined;
  /** By owner, then by job and stage. */
  readonly #known = new Map<Address, Map<string, Need>>();
  /** Looks at the limit again while only that keeps long tasks from free slots. */
  #armed = false;
  /** For how long a match may be on its way. ms; 0: whatever is sent arrives */
  readonly #lostAfterMs: Millis;
  /** Hears of tasks that have come, of jobs that are not long. */
  readonly #came: (tasks: number) => void;
  matches = 0;

  constructor(
    env: Environment<'match'>,
    policy: PolicySettings,
    lostAfterMs: Millis,
    came: (tasks: number) => void = () => {},
  ) {
    this.#env = env;
    this.#came = came;
    this.#policy = policy;
    this.#lostAfterMs = lostAfterMs;
    this.#lateTurns = new LateTurns(policy.lateTurns);
    if (policy.longDoubt !== null) this.#longTimes = new LongTimes(policy.longDoubt);
    const lateness = (need: Need): Millis => lateFrom(need, this.#pool.slots);
    const { lateTurns, lateShort } = policy;
    this.#needs = {
      short: new Needs(policy.shortOrder, lateShort ? lateness : undefined),
      small: new Needs(policy.shortOrder, lateShort ? lateness : undefined),
      long: new Needs(policy.longOrder, lateTurns > 0 || lateShort ? lateness : undefined),
      large: new Needs('tasks'),
    };
    this.#undecided = new Undecided(policy.cutoffMs);
    this.#countsWhatRan = policy.estimator !== 'given';
    this.#limit = new LongLimit(policy.reserve, reserveWindowMs(policy));
  }

  /** Matches of which their workers have not heard. */
  get openMatches(): number {
    return this.#pool.openMatches;
  }

  /** Tasks that wait for a worker. */
  get waitingTasks(): number {
    return KINDS.reduce((sum, kind) => sum + this.#needs[kind].tasks, 0);
  }

  /** The same by what is known of them. */
  get unmatched(): Readonly<Record<NeedKind, number>> {
    const { short, small, long, large } = this.#needs;
    return { short: short.tasks, small: small.tasks, long: long.tasks, large: large.tasks };
  }

  /**
   * Who waits here and what there is for them; undefined where workers do not ask for work here. Looks at every need for each that is told of.
   *
   * @param asked for a job, by the full name of its owner and its number there, or for none in particular
   */
  line(asked: MessageOf<'explainNeed'> | MessageOf<'explainWaiting'>, now: Millis): CentralLine | undefined {
    if (!pulls(this.#policy.preset)) return undefined;
    const { slots, long } = this.#pool;
    return {
      needs: asked.type === 'explainWaiting' ? [] : this.#needsInLine(asked.owner, asked.job, now),
      slots,
      freeSlots: this.#pool.freePullers.reduce((sum, puller) => sum + freeSlots(puller), 0),
      longRunning: long,
      longLimit: this.#limit.of(slots, now),
      unmatched: this.waitingTasks,
    };
  }

  #needsInLine(name: string, job: number, now: Millis): NeedView[] {
    const owner = ownerNamed(this.#known.keys(), name, (address) => this.#env.nameOf(address));
    if (owner === undefined) return [];
    const wanted = [...this.#needsOfOwner(owner)].filter((need) => need.job === job && need.tasks > 0);
    const before = now - patienceMsOf(this.#policy);
    const isOverdue = ({ kind, waitsSince }: Need): boolean =>
      (kind === 'short' || kind === 'long') && waitsSince <= before;
    return inLine(wanted, this.#needs, isOverdue, this.#policy.longWeight, now);
  }

  // ---- workers

  /** The worker takes work, or it does not. */
  setOpen(
    { address, place, slots, capacity }: Pick<WorkerRecord, 'address' | 'place' | 'slots' | 'capacity'>,
    open: boolean,
  ): void {
    // Nobody is matched with workers that never say what is free there.
    if (!pulls(this.#policy.preset)) return;
    const puller = this.#pool.get(address) ?? this.#pool.add(address, place, slots, capacity);
    if (!open) letGo(puller);
    this.#pool.setOpen(puller, open);
  }

  /** Workers, as far as they have registered. */
  get pullers(): Pullers {
    return this.#pool;
  }

  removeWorker(address: Address): void {
    const puller = this.#pool.get(address);
    if (puller !== undefined) letGo(puller);
    this.#pool.remove(address);
  }

  pulled(from: Address, message: MessageOf<'pull'>, now: Millis): void {
    const puller = this.#pool.get(from);
    if (puller === undefined) return;
    this.#pool.pulled(puller, message);
    if (this.#countsWhatRan && message.shortMs > 0) this.#limit.shortCame(message.shortMs, now);
    remindOwners(this.#env, puller, this.#lostAfterMs, now);
    this.#serve(puller, now);
  }

  /** Whether the worker should say again what is free there. */
  isDoubtful(address: Address, busy: number, now: Millis): boolean {
    const puller = this.#pool.get(address);
    if (puller === undefined || !pulls(this.#policy.preset)) return false;
    return isDoubtful(puller, busy, this.#lostAfterMs, now);
  }

  /** The owner has nothing (left) for the worker. */
  unused({ worker, match }: MessageOf<'unused'>, now: Millis): void {
    const puller = this.#pool.get(worker);
    if (puller === undefined || this.#pool.undo(puller, match) === undefined) return;
    this.#serve(puller, now);
  }

  // ---- jobs

  needed(owner: Address, message: MessageOf<'need'>, now: Millis): void {
    const { job, stage, tasks, part, estimateFollows } = message;
    const known = this.#known.get(owner)?.get(`${job}/${stage}`);
    const makesRoom = this.#noteDecision(owner, message, now);
    if (tasks === 0) {
      if (known !== undefined) this.#forget(known, now);
    } else if (known === undefined) {
      this.#find(this.#add(owner, message, 0, now, now), now);
    } else {
      const onTheWay = matchesOnTheWay(known, message.matches, this.#lostAfterMs, now);
      if (isDecided(known) === (part === 'early')) {
        this.#forget(known, now);
        this.#find(this.#add(owner, message, onTheWay, known.cameAt, now), now);
      } else {
        known.matches = message.matches + onTheWay;
        // What nobody knows is not believed to be more the longer it is not known.
        if (!estimateFollows) this.#needsOf(known).setEstimate(known, message.estimateMs);
        this.#needsOf(known).setTasks(known, Math.max(0, tasks - onTheWay));
        this.#find(known, now);
      }
    }
    if (makesRoom) this.wake(now);
  }

  /** @returns whether more tasks of other jobs may run now */
  #noteDecision(owner: Address, message: MessageOf<'need'>, now: Millis): boolean {
    const { job, stage, part, long, estimateMs, estimateFollows } = message;
    if (part === 'early') return false;
    if (!long) return this.#undecided.decided(owner, job, stage);
    if (!estimateFollows) this.#longTimes?.learn(`${owner}/${job}`, estimateMs);
    if (this.#undecided.turnedLong(owner, job, stage, now)) this.#lookAgain(now);
    return false;
  }

  /**
   * @param onTheWay workers that were found for it and of which its owner has not heard
   * @param cameAt when it was first heard of, decided or not
   */
  #add(owner: Address, message: MessageOf<'need'>, onTheWay: number, cameAt: Millis, now: Millis): Need {
    const { job, stage, demand, estimateFollows } = message;
    const doubts = estimateFollows ? this.#longTimes : undefined;
    const estimateMs = doubts?.doubted(message.estimateMs) ?? message.estimateMs;
    const sizeMs = estimateMs * message.tasks;
    const kind = this.#kindOf(message, now);
    const need = this.#needs[kind].add({
      owner,
      job,
      stage,
      kind,
      demand,
      estimateMs,
      sizeMs,
      tasks: Math.max(0, message.tasks - onTheWay),
      matches: message.matches + onTheWay,
      waitsSince: now,
      cameAt,
    });
    let ofOwner = this.#known.get(owner);
    if (ofOwner === undefined) {
      ofOwner = new Map();
      this.#known.set(owner, ofOwner);
    }
    ofOwner.set(`${job}/${stage}`, need);
    if (kind === 'short' && !this.#countsWhatRan) this.#limit.shortCame(sizeMs, now);
    if (kind !== 'long') this.#came(message.tasks);
    return need;
  }

  #kindOf({ part, long, tasks }: MessageOf<'need'>, now: Millis): NeedKind {
    if (part !== 'early') return long ? 'long' : 'short';
    const { slots } = this.#pool;
    return tasks <= SMALL * (slots - this.#limit.of(slots, now)) ? 'small' : 'large';
  }

  /** Short work has come that needs nobody from here: estimate × tasks. */
  shortCame(workMs: Millis, now: Millis): void {
    if (!this.#countsWhatRan) this.#limit.shortCame(workMs, now);
  }

  withdraw(owner: Address, job: number, now: Millis): void {
    for (const need of [...this.#needsOfOwner(owner)]) {
      if (need.job !== job) continue;
      this.#undecided.decided(owner, job, need.stage);
      this.#forget(need, now);
    }
  }

  removeOwner(owner: Address, now: Millis): void {
    const needs = [...this.#needsOfOwner(owner)];
    this.#known.delete(owner);
    // All of them before anything becomes free by it, or that would be matched with the rest of them.
    for (const need of needs) this.#needsOf(need).remove(need);
    for (const puller of this.#pool) {
      for (const { match, owner: of } of [...puller.matches])
        if (of === owner) this.#pool.undo(puller, match);
    }
    for (const need of needs) this.#release(need, now);
    this.#undecided.removeOwner(owner);
  }

  /** Time has passed, or something was decided: more tasks may run that are not known to be short. */
  wake(now: Millis): void {
    this.#armed = false;
    this.#undecided.settle(now - this.#pauseMs());
    if (this.#undecided.isSettling) this.#lookAgain(now);
    for (const kind of NOT_SHORT) {
      let need = this.#first(kind, anything, now);
      while (need !== undefined) {
        const before = need.tasks;
        this.#find(need, now);
        if (need.tasks === before) break;
        need = this.#first(kind, anything, now);
      }
    }
  }

  checkInvariants(): void {
    let slots = 0;
    for (const puller of this.#pool) if (puller.open) slots += puller.slots;
    if (slots !== this.#pool.slots) throw new Error(`${slots} slots are open, counted ${this.#pool.slots}`);
  }

  // ---- bringing together

  /** Finds workers for what has come to need some. */
  #find(need: Need, now: Millis): void {
    const found: { worker: Address; match: number }[] = [];
    const suits = (puller: Puller): boolean =>
      (puller.heldFor === undefined || puller.heldFor === need) && fits(need.demand, spareOf(puller));
    const packs = this.#policy.packing && isDemanding(need);
    while (need.tasks > 0 && this.#pool.free > 0 && this.#mayRun(need, now)) {
      const puller = packs ? this.#pool.drawTightest(this.#env, suits) : this.#pool.draw(this.#env, suits);
      if (puller === undefined) break;
      found.push({ worker: puller.address, match: this.#match(need, puller, now) });
    }
    this.#tell(need, found);
    this.#settle(need, now);
  }

  /** Finds jobs for the free slots of a worker. */
  #serve(puller: Puller, now: Millis): void {
    while (puller.open && freeSlots(puller) > 0) {
      const need = this.#nextFor(puller, now);
      if (need === undefined) return;
      this.#tell(need, [{ worker: puller.address, match: this.#match(need, puller, now) }]);
      this.#settle(need, now);
    }
  }

  #nextFor(puller: Puller, now: Millis): Need | undefined {
    const spare = spareOf(puller);
    const suits = (need: Need): boolean => fits(need.demand, spare);
    if (puller.heldFor !== undefined) return suits(puller.heldFor) ? puller.heldFor : undefined;
    const urgent = this.#overdue((need) => suits(need) || mayBeHeldFor(puller, need), now);
    if (urgent !== undefined) {
      if (suits(urgent)) return urgent;
      hold(puller, urgent);
      return undefined;
    }
    const first = this.#firstShort(suits, now);
    const { longWeight } = this.#policy;
    if (first !== undefined && longWeight === 0) return first;
    const long = this.#firstThatMayRun('long', suits, now);
    if (first === undefined || long === undefined)
      return first ?? long ?? this.#firstThatMayRun('large', suits, now);
    if (!overtakes(long, first, longWeight)) return first;
    const next = this.#lateRatherThan(long, suits, now);
    return overtakes(next, first, longWeight) ? next : first;
  }

  /** In order; but one that is late comes before those that have about as much to do, or more. */
  #firstShort(suits: (need: Need) => boolean, now: Millis): Need | undefined {
    const { short, small } = this.#needs;
    const least = this.#earlier(short.first(suits), this.#firstThatMayRun('small', suits, now));
    if (least === undefined) return undefined;
    const lateSmall = small.late(now, suits);
    const mayLateSmall = lateSmall !== undefined && this.#mayRun(lateSmall, now);
    const late = cameFirst(short.late(now, suits), mayLateSmall ? lateSmall : undefined);
    return late !== undefined && overtakes(late, least, ABOUT_AS_MUCH) ? late : least;
  }

  /** The weight of long jobs is at the cost of the largest short ones; it does not hold while one of those is late. */
  #lateRatherThan(long: Need, suits: (need: Need) => boolean, now: Millis): Need {
    const lateShort = this.#needs.short.late(now, suits);
    return lateShort === undefined ? long : cameFirst(lateShort, this.#needs.long.late(now, suits))!;
  }

  #firstThatMayRun(kind: NeedKind, suits: (need: Need) => boolean, now: Millis): Need | undefined {
    const need = this.#first(kind, suits, now);
    return need !== undefined && this.#mayRun(need, now) ? need : undefined;
  }

  /** In order; but of the long ones, in their turn, one that is late, else one that has waited too long for its next worker. */
  #first(kind: NeedKind, suits: (need: Need) => boolean, now: Millis): Need | undefined {
    const needs = this.#needs[kind];
    if (needs.size === 0) return undefined;
    const { longPatience, cutoffMs } = this.#policy;
    const late = kind === 'long' && this.#lateTurns.isDue ? needs.late(now, suits) : undefined;
    if (late !== undefined) return late;
    const isAged = kind === 'long' && longPatience > 0;
    return (isAged ? needs.overdue(now - longPatience * cutoffMs, suits) : undefined) ?? needs.first(suits);
  }

  /** Of two in lists of one order. */
  #earlier(one: Need | undefined, other: Need | undefined): Need | undefined {
    if (one === undefined || other === undefined) return one ?? other;
    return this.#needsOf(one).keyOf(one) <= this.#needsOf(other).keyOf(other) ? one : other;
  }

  /** What was kept for the job may be used by others again. */
  #release(need: Need, now: Millis): void {
    const held = [...need.held];
    need.held.clear();
    for (const address of held) {
      const puller = this.#pool.get(address);
      if (puller?.heldFor !== need) continue;
      puller.heldFor = undefined;
      this.#serve(puller, now);
    }
  }

  /** The job that has waited longest, of those that have waited longer than anyone should. */
  #overdue(accepts: (need: Need) => boolean, now: Millis): Need | undefined {
    const before = now - patienceMsOf(this.#policy);
    const short = this.#needs.short.overdue(before, accepts);
    const long = this.#needs.long.overdue(before, accepts);
    if (short === undefined || long === undefined) return short ?? long;
    return short.waitsSince <= long.waitsSince ? short : long;
  }

  #mayRun({ kind }: Need, now: Millis): boolean {
    if (kind === 'short') return true;
    const { slots, long } = this.#pool;
    const limit = this.#limit.of(slots, now);
    const { tasks, smallTasks, turningTasks } = this.#undecided;
    const leavesTheReserve = long + (kind === 'long' ? turningTasks : tasks) < limit;
    const may =
      leavesTheReserve || (kind === 'small' && smallTasks + Math.max(0, long - limit) < slots - limit);
    if (!may) this.#lookAgain(now);
    return may;
  }

  #match(need: Need, puller: Puller, now: Millis): number {
    this.matches++;
    if (need.kind === 'long') this.#lateTurns.matched(this.#needs.long.isLate(need, now));
    this.#needsOf(need).matched(need, now);
    letGo(puller);
    const { owner, job, stage, kind, demand } = need;
    if (!isDecided(need)) this.#undecided.matched(owner, job, stage, kind === 'small', now);
    return this.#pool.match(puller, { owner, job, long: kind === 'long', demand, at: now });
  }

  #tell({ owner, job, stage }: Need, workers: MessageOf<'matched'>['workers']): void {
    if (workers.length > 0) this.#env.send(owner, { type: 'matched', job, stage, workers });
  }

  #settle(need: Need, now: Millis): void {
    if (need.tasks === 0) this.#forget(need, now);
    else if (need.held.size > need.tasks) this.#release(need, now);
  }

  #forget(need: Need, now: Millis): void {
    const ofOwner = this.#known.get(need.owner);
    if (!ofOwner?.delete(`${need.job}/${need.stage}`)) return;
    this.#needsOf(need).remove(need);
    if (need.held.size > 0) this.#release(need, now);
  }

  #needsOfOwner(owner: Address): Iterable<Need> {
    return this.#known.get(owner)?.values() ?? [];
  }

  #needsOf(need: Need): Needs {
    return this.#needs[need.kind];
  }

  #lookAgain(now: Millis): void {
    if (this.#armed || (this.#pool.free === 0 && !this.#undecided.isSettling)) return;
    this.#armed = true;
    this.#env.setTimer('match', 0, now + this.#pauseMs());
  }

  /** Between two looks at what may have changed by itself. */
  #pauseMs(): Millis {
    return Math.min(1_000, this.#policy.cutoffMs / 100);
  }
}

const anything = (): boolean => true;

function cameFirst(one: Need | undefined, other: Need | undefined): Need | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.cameAt < one.cameAt ? other : one;
}

/** No job keeps more workers than it has tasks. */
function mayBeHeldFor(puller: Puller, need: Need): boolean {
  return fits(need.demand, puller.capacity) && need.held.size < need.tasks;
}

/**
 * Keeps the worker for a job that has waited too long and would fit if more of it were free, so that smaller ones do
 * not take what becomes free bit by bit.
 */
function hold(puller: Puller, need: Need): void {
  puller.heldFor = need;
  need.held.add(puller.address);
}

function letGo(puller: Puller): void {
  puller.heldFor?.held.delete(puller.address);
  puller.heldFor = undefined;
}

const KINDS: readonly NeedKind[] = ['short', 'small', 'long', 'large'];
/** In the order in which they are served. */
const NOT_SHORT: readonly NeedKind[] = ['small', 'long', 'large'];
/** A job of so many tasks, as a fraction of the reserve, cannot do much harm before it is known what it is. */
const SMALL = 1 / 3;

/** Whose work differs by less has to wait for who has waited: an order of jobs that are nearly alike lets some wait for ever. */
const ABOUT_AS_MUCH = 2;

function isDecided({ kind }: Need): boolean {
  return kind === 'short' || kind === 'long';
}
