import type { Member } from '../fields/records.js';
import type { Address } from '../ids.js';
import type { Scope } from '../policy/presets.js';
import { GPU_PARTS, Gpus } from '../resources/gpus.js';
import {
  amountOf,
  fits,
  formatResources,
  GPU,
  NO_RESOURCES,
  placesOf,
  type Resources,
  taken,
} from '../resources/resources.js';
import {
  type Attributes,
  attributesByName,
  formatAttributes,
  mayRun,
  meetsWishes,
  type Requiring,
  requiresOf,
  spreadOf,
} from './attributes.js';

/** Needs of a task: resources and attributes. */
export interface TaskNeeds extends Requiring {
  readonly demand: Resources;
}

/** Maximum number of workers named in a message. */
const NAMED = 3;
/** Maximum length, in characters, of the requirements in a message. */
const SHOWN_MAX = 500;

/** The workers as known to a scheduler or a client. */
export interface KnownWorkers {
  readonly size: number;
  all(): Iterable<Member>;
  memoized<T>(key: string, compute: () => T): T;
  reachableScope(scope: Scope): Scope;
}

/** Whether nothing is requested, as for most tasks. */
export function isPlain({ demand, requires }: TaskNeeds): boolean {
  return demand === NO_RESOURCES && requires === undefined;
}

/** Returns whether the worker could run such a task if nothing else ran there. */
export function couldRun(member: Member, needs: TaskNeeds): boolean {
  return fits(needs.demand, member.capacity) && hasRequired(member, needs);
}

/** Whether the worker has the required attributes. */
export function hasRequired({ attributes }: Member, requiring: Requiring): boolean {
  return requiring.requires === undefined || mayRun({ attributes: requiresOf(attributes) }, requiring);
}

/** Whether the worker belongs to the scope. */
export function isIn({ partition }: Member, scope: Scope): boolean {
  return scope === 'all' || partition === scope;
}

/**
 * Explains why no worker of the scope has both the required attributes and enough resources. Returns undefined if one
 * has, if nothing is required, or if no worker is known.
 */
export function missingRequirement(
  workers: KnownWorkers,
  scope: Scope,
  needs: TaskNeeds,
): string | undefined {
  const { requires } = needs;
  if (requires === undefined || workers.size === 0 || couldFit(workers, scope, needs)) return undefined;
  return workers.memoized(cacheKey('missing', needs, scope), () =>
    describeMissing(workers, scope, needs, requires),
  );
}

function describeMissing(
  workers: KnownWorkers,
  scope: Scope,
  needs: TaskNeeds,
  requires: Attributes,
): string {
  const { demand } = needs;
  const what = formatAttributes(requires).slice(0, SHOWN_MAX);
  const able = [...workers.all()].filter((member) => hasRequired(member, needs));
  if (able.length === 0) {
    const names = Object.keys(requires).filter((name) => !hasAttribute(workers, name));
    const unknown = names.length === 0 ? '' : `, and none declares its ${names.join(' or ')}`;
    return `no worker has ${what}${unknown}: the job waits until one does`;
  }
  const large = able.filter(({ capacity }) => fits(demand, capacity));
  if (large.length === 0) {
    const room = formatResources(demand);
    return `no worker with ${what} has room for ${room} (${namesOf(able)}): the job waits until one does`;
  }
  const other = scope === 'short' ? 'general' : 'short';
  const size = scope === 'short' ? 'larger' : 'smaller';
  return `only workers of the ${other} partition have ${what} (${namesOf(large)}), but the job uses the ${scope} partition and waits until one of its workers has it; add the attribute to more workers, or make the short partition ${size} (--short-partition)`;
}

/**
 * Returns whether a worker of the scope is large enough and has the required attributes. Draining workers count,
 * because they may accept tasks again.
 */
export function couldFit(workers: KnownWorkers, scope: Scope, needs: TaskNeeds): boolean {
  return workers.memoized(cacheKey('fit', needs, scope), () => {
    for (const _ of ableIn(workers, scope, needs)) return true;
    return false;
  });
}

function cacheKey(what: string, { demand, requires }: Partial<TaskNeeds>, ...of: readonly string[]): string {
  return JSON.stringify([what, demand, requires, ...of]);
}

/** Workers of the scope that are large enough and have the required attributes. */
function* ableIn(workers: KnownWorkers, scope: Scope, needs: TaskNeeds): Iterable<Member> {
  const reach = workers.reachableScope(scope);
  for (const member of workers.all()) if (isIn(member, reach) && couldRun(member, needs)) yield member;
}

function hasAttribute(workers: KnownWorkers, name: string): boolean {
  for (const { attributes } of workers.all()) if (attributes.some((each) => each.name === name)) return true;
  return false;
}

/**
 * Returns the number of such tasks that fit on all workers together, including draining ones. Counting stops once it
 * reaches `most`.
 *
 * @param sharesCpus whether tasks that need less than a CPU can share one
 */
export function roomFor(workers: KnownWorkers, needs: TaskNeeds, most: number, sharesCpus: boolean): number {
  return workers.memoized(cacheKey('room', needs, `${most} ${sharesCpus}`), () =>
    countRoom(workers, needs, most, sharesCpus),
  );
}

function countRoom(workers: KnownWorkers, needs: TaskNeeds, most: number, sharesCpus: boolean): number {
  let room = 0;
  const spread = spreadOf(needs.requires);
  const roomOf = new Map<string, number>();
  for (const member of workers.all()) {
    if (!hasRequired(member, needs)) continue;
    const { capacity, slots } = member;
    const amounts = { cpu: slots, ...capacity };
    const demand = taken(needs.demand, amounts);
    let here = sharesCpus ? placesOf(slots) : slots;
    for (const name in demand) {
      if (demand[name]! > 0) here = Math.min(here, timesIn(demand[name]!, amountOf(amounts, name), name));
    }
    for (const { name, most } of spread ?? []) {
      const key = `${name}=${member.attributes.find((each) => each.name === name)!.value}`;
      here = Math.min(here, roomOf.get(key) ?? most);
      roomOf.set(key, (roomOf.get(key) ?? most) - here);
    }
    room += here;
    if (room >= most) break;
  }
  return room;
}

/** A fraction of a GPU must fit on one GPU. */
function timesIn(demand: number, capacity: number, name: string): number {
  const gpus = name === GPU ? Gpus.of<number>(Math.round(capacity * GPU_PARTS), GPU_PARTS) : undefined;
  return gpus?.countOf(Math.round(demand * GPU_PARTS)) ?? Math.floor(capacity / demand);
}

/** Returns whether a worker may meet all wishes: one meets them, or none is known. */
export function mayMeet(workers: KnownWorkers, wishes: Attributes): boolean {
  return workers.memoized(JSON.stringify(['meets', wishes]), () => {
    for (const { attributes } of workers.all()) {
      if (meetsWishes(wishes, attributesByName(attributes))) return true;
    }
    return workers.size === 0;
  });
}

/** Returns whether at least one worker of the scope could run the task, and all that could are draining. */
export function isDrained(workers: KnownWorkers, scope: Scope, needs: TaskNeeds): boolean {
  return workers.memoized(cacheKey('drained', needs, scope), () => {
    let found = false;
    for (const { draining } of ableIn(workers, scope, needs)) {
      if (!draining) return false;
      found = true;
    }
    return found;
  });
}

/** Returns whether an active worker of the scope, other than these, could run the task. */
export function hasBesides(
  workers: KnownWorkers,
  besides: readonly Address[],
  scope: Scope,
  needs: TaskNeeds,
): boolean {
  for (const { draining, address } of ableIn(workers, scope, needs))
    if (!draining && !besides.includes(address)) return true;
  return false;
}

/** Returns how many active workers of the scope, other than these, could run the task. Counting stops at `most`. */
export function countBesides(
  workers: KnownWorkers,
  besides: ReadonlySet<Address>,
  scope: Scope,
  needs: TaskNeeds,
  most: number,
): number {
  let count = 0;
  for (const { draining, address } of ableIn(workers, scope, needs))
    if (!draining && !besides.has(address) && ++count >= most) break;
  return count;
}

/**
 * Explains that no worker has these resources, and names the one that comes closest. Returns undefined if a worker has
 * them, or if no worker is known yet.
 */
export function whyTooLarge(workers: KnownWorkers, demand: Resources): string | undefined {
  if (workers.size === 0) return undefined;
  // Most jobs request nothing.
  const key = demand === NO_RESOURCES ? 'large' : cacheKey('large', { demand });
  return workers.memoized(key, () => describeTooLarge(workers, demand));
}

function describeTooLarge(workers: KnownWorkers, demand: Resources): string | undefined {
  let closest: Member | undefined;
  let least = 0;
  for (const member of workers.all()) {
    if (fits(demand, member.capacity)) return undefined;
    const shortage = shortageOf(taken(demand, member.capacity), member.capacity);
    if (closest === undefined || shortage < least) {
      least = shortage;
      closest = member;
    }
  }
  const { name, capacity } = closest!;
  return `no worker has ${formatResources(taken(demand, capacity))}; the closest is ${name} with ${formatResources(capacity)}`;
}

function namesOf(members: readonly Member[]): string {
  const shown = members.slice(0, NAMED).map(({ name }) => name);
  return members.length > NAMED ? `${shown.join(', ')} and ${members.length - NAMED} more` : shown.join(', ');
}

/**
 * The largest ratio of demand to capacity; at most 1 if the demand fits. A missing resource outweighs every ratio.
 */
function shortageOf(demand: Resources, capacity: Resources): number {
  let worst = 0;
  let missing = 0;
  for (const name in demand) {
    const amount = amountOf(capacity, name);
    if (amount > 0) worst = Math.max(worst, demand[name]! / amount);
    else missing++;
  }
  return worst + missing * Number.MAX_SAFE_INTEGER;
}
