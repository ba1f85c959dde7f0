import { type Address, type MessageOf, rendezvous } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Keys } from './keys.js';

const CENTRAL = 1 as Address;
const ANOTHER = 2 as Address;
const MINUTE_MS = 60_000;

const all = ['a', 'b', 'c'].map((name) => ({ name }));
const keyOf = (name: string) =>
  Array.from({ length: 1_000 }, (_, i) => `${i}`).find((key) => rendezvous(key, all)!.name === name)!;

function members(present: readonly string[], away: readonly string[] = []): MessageOf<'members'> {
  const owners = [
    ...present.map((name) => ({ name, away: false })),
    ...away.map((name) => ({ name, away: true })),
  ];
  return {
    type: 'members',
    version: 1,
    since: 0,
    changed: [],
    left: [],
    owners,
    ownersVersion: 4,
    silentMs: undefined,
  };
}

class Bench {
  readonly written: (readonly string[])[] = [];
  readonly keys: Keys;

  constructor(formerly: readonly string[] = []) {
    this.keys = new Keys('a', { schedulers: (names) => void this.written.push(names) });
    this.keys.loadOwners(formerly);
  }

  /** Reply codes for a key of each scheduler. */
  get codes(): (string | undefined)[] {
    return all.map(({ name }) => this.keys.refusal(keyOf(name))?.code);
  }
}

describe('keys', () => {
  test('the other schedulers are named, disconnected ones only if no other can have their jobs', () => {
    const { keys } = new Bench();
    expect(keys.others).toEqual([]);
    keys.onMembers(CENTRAL, members(['a', 'b'], ['c']), 0);
    expect(keys.others).toEqual(['b', 'c']);
    const shared = new Bench();
    shared.keys.onSharedMembers(members(['a', 'b'], ['c']));
    expect(shared.keys.others).toEqual(['b']);
  });

  test('a scheduler accepts its keys, and names the owners of others', () => {
    const { keys } = new Bench();
    keys.onMembers(CENTRAL, members(['a', 'b'], ['c']), 0);
    expect(keys.refusal(keyOf('a'))).toBeUndefined();
    expect(keys.refusal(keyOf('b'))).toMatchObject({
      code: 'other-scheduler',
      message: 'the key belongs to scheduler b',
    });
    expect(keys.refusal(keyOf('c'))).toMatchObject({ code: 'owner-away' });
    expect(keys.version).toBe(4);
  });

  test('a single scheduler accepts every key, but none before it has the list', () => {
    const bench = new Bench();
    expect(bench.codes).toEqual(['not-ready', 'not-ready', 'not-ready']);
    bench.keys.onMembers(CENTRAL, members(['a']), 0);
    expect(bench.codes).toEqual([undefined, undefined, undefined]);
  });

  test('a late older list has no effect', () => {
    const bench = new Bench();
    bench.keys.onMembers(CENTRAL, members(['a', 'b', 'c']), 0);
    bench.keys.onMembers(CENTRAL, { ...members(['a']), ownersVersion: 1, silentMs: undefined }, 1);
    expect(bench.codes).toEqual([undefined, 'other-scheduler', 'other-scheduler']);
    expect(bench.keys.version).toBe(4);
  });

  test('a scheduler that a new central does not list counts as disconnected for ten minutes', () => {
    const bench = new Bench();
    bench.keys.onMembers(CENTRAL, members(['a', 'b', 'c']), 0);
    bench.keys.onMembers(ANOTHER, members(['a']), 1);
    expect(bench.codes).toEqual([undefined, 'owner-away', 'owner-away']);
    bench.keys.onMembers(ANOTHER, members(['a', 'b']), 2);
    expect(bench.codes).toEqual([undefined, 'other-scheduler', 'owner-away']);
    bench.keys.onMembers(ANOTHER, members(['a', 'b']), 11 * MINUTE_MS);
    expect(bench.codes[2]).not.toBe('owner-away');
  });

  test('a scheduler that its central gives up is forgotten', () => {
    const bench = new Bench();
    bench.keys.onMembers(CENTRAL, members(['a', 'b', 'c']), 0);
    bench.keys.onMembers(CENTRAL, members(['a', 'b']), 1);
    expect(bench.codes[2]).not.toBe('owner-away');
  });

  test('a restarted scheduler remembers the other schedulers', () => {
    const bench = new Bench(['a', 'b', 'c']);
    bench.keys.onMembers(CENTRAL, members(['a']), 0);
    expect(bench.codes).toEqual([undefined, 'owner-away', 'owner-away']);
  });

  test('names are recorded when they change', () => {
    const bench = new Bench(['a', 'b']);
    bench.keys.onMembers(CENTRAL, members(['b', 'a']), 0);
    bench.keys.onMembers(CENTRAL, members(['a'], ['b']), 1);
    expect(bench.written).toEqual([]);
    bench.keys.onMembers(CENTRAL, members(['c', 'a'], ['b']), 2);
    expect(bench.written).toEqual([['a', 'b', 'c']]);
  });
});
