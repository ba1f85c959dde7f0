import type { Member, Scope } from '@goshawk/core';

/** By a list that was told, which nobody changes. */
const ofLists = new WeakMap<readonly Member[], Map<Scope, Int32Array>>();

/** One address a slot of the workers of a scope that take work, in their order. */
export function placesOf(members: Iterable<Member>, scope: Scope): Int32Array {
  const places: number[] = [];
  for (const member of members) {
    if (member.draining || !isIn(member, scope)) continue;
    for (let slot = 0; slot < member.slots; slot++) places.push(member.address);
  }
  return Int32Array.from(places);
}

/**
 * The same, made once for all who were told the list, and not to be changed: each probe is a random look into it, and what ten
 * schedulers of a simulation share fits into a processor's cache.
 */
export function placesOfList(list: readonly Member[], scope: Scope): Int32Array {
  let byScope = ofLists.get(list);
  if (byScope === undefined) {
    byScope = new Map();
    ofLists.set(list, byScope);
  }
  let places = byScope.get(scope);
  if (places === undefined) {
    places = placesOf(list, scope);
    byScope.set(scope, places);
  }
  return places;
}

export function isIn({ partition }: Member, scope: Scope): boolean {
  return scope === 'all' || partition === scope;
}
