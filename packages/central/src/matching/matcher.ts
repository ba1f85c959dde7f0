import {
  type Address,
  amountOf,
  type Environment,
  fits,
  type MessageOf,
  type Millis,
  type PolicySettings,
  patienceMsOf,
  type Resources,
  reserveWindowMs,
} from '@goshawk/core';
import type { WorkerRecord } from '../registry.js';
import { LongLimit } from './long-limit.js';
import { type Need, Needs } from './needs.js';
import { freeSlots, Pool, type Puller } from './pool.js';

/**
 * Brings together the workers that have a free slot and the jobs that need one. The tasks stay with their
 * owners, who bind one when they hear of the worker; so binding is as late as it can be, nothing waits in the
 * queues of workers, and nothing has to be stolen.
 *
 * A free slot goes to a job that has waited longer than anyone should; else to the first short job in order;
 * else, while fewer long tasks run than the limit, to the first long one; else it waits here.
 */
export class Matcher {
  readonly #env: Environment<'match'>;
  readonly #policy: PolicySettings;
  readonly #short: Needs;
  readonly #long: Needs;
  readonly #pool = new Pool();
  readonly #limit: LongLimit;
  /** By owner, then by job and stage. */
  readonly #known = new Map<Address, Map<string, Need>>();
  /** Looks at the limit again while only that keeps long tasks from free slots. */
  #armed = false;
  /** For how long a match may be on its way. ms; 0: whatever is sent arrives */
  readonly #lostAfterMs: Millis;
  matches = 0;

  constructor(env: Environment<'match'>, policy: PolicySettings, lostAfterMs: Millis) {
    this.#env = env;
    this.#policy = policy;
    this.#lostAfterMs = lostAfterMs;
    this.#short = new Needs(policy.shortOrder);
    this.#long = new Needs(policy.longOrder);
    this.#limit = new LongLimit(policy.reserve, reserveWindowMs(policy));
  }

  /** Tasks that wait for a worker. */
  get waitingTasks(): number {
    return this.#short.tasks + this.#long.tasks;
  }

  // ---- workers

  /** The worker takes work, or it does not. */
  setOpen(
    { address, place, slots, capacity }: Pick<WorkerRecord, 'address' | 'place' | 'slots' | 'capacity'>,
    open: boolean,
  ): void {
    const puller = this.#pool.get(address) ?? this.#pool.add(address, place, slots, capacity);
    if (!open) letGo(puller);
    this.#pool.setOpen(puller, open);
  }

  /** Workers, as far as they have registered. */
  get pullers(): Iterable<Puller> {
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
    this.#remind(puller, now);
    this.#serve(puller, now);
  }

  /**
   * Whether the worker should say again what is free there: it is busy with less than is believed here, and no
   * match can still be on its way to it.
   */
  isDoubtful(address: Address, busy: number, now: Millis): boolean {
    const puller = this.#pool.get(address);
    if (puller === undefined || !puller.open || !this.#isOn) return false;
    if (puller.slots - busy <= freeSlots(puller)) return false;
    return puller.matches.every(({ at }) => now - at >= this.#lostAfterMs);
  }

  /** The owner has nothing (left) for the worker. */
  unused({ worker, match }: MessageOf<'unused'>, now: Millis): void {
    const puller = this.#pool.get(worker);
    if (puller === undefined || this.#pool.undo(puller, match) === undefined) return;
    this.#serve(puller, now);
  }

  // ---- jobs

  needed(owner: Address, message: MessageOf<'need'>, now: Millis): void {
    const { job, stage, tasks, matches, estimateMs } = message;
    const key = `${job}/${stage}`;
    const known = this.#known.get(owner)?.get(key);
    if (tasks === 0) return known === undefined ? undefined : this.#forget(known, now);
    if (known !== undefined) {
      // Workers that its owner has not heard of yet are on their way to it, if they were found just now.
      const canBeOnTheWay = this.#lostAfterMs === 0 || now - known.waitsSince < this.#lostAfterMs;
      const onTheWay = canBeOnTheWay ? known.matches - matches : 0;
      known.matches = matches + onTheWay;
      this.#needsOf(known).setTasks(known, Math.max(0, tasks - onTheWay));
      return this.#find(known, now);
    }
    const needs = message.long ? this.#long : this.#short;
    const sizeMs = estimateMs * tasks;
    const need = needs.add({
      owner,
      job,
      stage,
      class: message.long ? 'long' : 'short',
      demand: message.demand,
      estimateMs,
      sizeMs,
      tasks,
      matches,
      waitsSince: now,
    });
    let ofOwner = this.#known.get(owner);
    if (ofOwner === undefined) {
      ofOwner = new Map();
      this.#known.set(owner, ofOwner);
    }
    ofOwner.set(key, need);
    if (!message.long) this.#limit.shortCame(sizeMs, now);
    this.#find(need, now);
  }

  /** Short work has come that needs nobody from here: estimate × tasks. */
  shortCame(workMs: Millis, now: Millis): void {
    this.#limit.shortCame(workMs, now);
  }

  withdraw(owner: Address, job: number, now: Millis): void {
    for (const need of [...this.#needsOfOwner(owner)]) if (need.job === job) this.#forget(need, now);
  }

  removeOwner(owner: Address, now: Millis): void {
    for (const puller of this.#pool) {
      for (const { match, owner: of } of [...puller.matches])
        if (of === owner) this.#pool.undo(puller, match);
    }
    for (const need of [...this.#needsOfOwner(owner)]) this.#forget(need, now);
    this.#known.delete(owner);
  }

  /** Time has passed: the limit may let more long tasks run. */
  wake(now: Millis): void {
    this.#armed = false;
    let need = this.#longNext();
    while (need !== undefined) {
      const before = need.tasks;
      this.#find(need, now);
      if (need.tasks === before) return;
      need = this.#longNext();
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
    while (need.tasks > 0 && this.#pool.free > 0 && this.#mayRun(need, now)) {
      const puller = this.#pool.draw(this.#env, suits);
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
    const short = this.#short.first(suits);
    if (short !== undefined) return short;
    const long = this.#long.size === 0 ? undefined : this.#long.first(suits);
    return long !== undefined && this.#mayRun(long, now) ? long : undefined;
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
    const short = this.#short.overdue(before, accepts);
    const long = this.#long.overdue(before, accepts);
    if (short === undefined || long === undefined) return short ?? long;
    return short.waitsSince <= long.waitsSince ? short : long;
  }

  #mayRun(need: Need, now: Millis): boolean {
    if (need.class === 'short' || this.#pool.long < this.#limit.of(this.#pool.slots, now)) return true;
    this.#lookAgain(now);
    return false;
  }

  #match(need: Need, puller: Puller, now: Millis): number {
    this.matches++;
    this.#needsOf(need).matched(need, now);
    letGo(puller);
    const { owner, job, class: jobClass, demand } = need;
    return this.#pool.match(puller, { owner, job, long: jobClass === 'long', demand, at: now });
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

  get #isOn(): boolean {
    const { short, long } = this.#policy.preset;
    return short.by === 'matching' || long.by === 'matching';
  }

  #needsOfOwner(owner: Address): Iterable<Need> {
    return this.#known.get(owner)?.values() ?? [];
  }

  #needsOf(need: Need): Needs {
    return need.class === 'long' ? this.#long : this.#short;
  }

  #longNext(): Need | undefined {
    return this.#long.first(() => true);
  }

  #lookAgain(now: Millis): void {
    if (this.#armed || this.#pool.free === 0) return;
    this.#armed = true;
    this.#env.setTimer('match', 0, now + Math.min(1_000, this.#policy.cutoffMs / 100));
  }

  /** The worker has not heard of a match that should have come to it long ago: its owner is to see to it. */
  #remind(puller: Puller, now: Millis): void {
    if (this.#lostAfterMs === 0) return;
    for (const open of puller.matches) {
      if (now - open.at < this.#lostAfterMs) continue;
      open.at = now;
      this.#env.send(open.owner, {
        type: 'unheard',
        job: open.job,
        worker: puller.address,
        match: open.match,
      });
    }
  }
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

/** What is free at the worker beside its slots, when those that were matched with it have come. */
function spareOf({ spare, matches }: Puller): Resources {
  if (matches.length === 0) return spare;
  const left: Record<string, number> = {};
  for (const name in spare) {
    left[name] = amountOf(spare, name) - matches.reduce((sum, { demand }) => sum + amountOf(demand, name), 0);
  }
  return left;
}
