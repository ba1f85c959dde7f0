import { type Address, DEFAULT_POLICY, LIVE_TIMINGS, type Message } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DuplicateCentrals } from './duplicate-centrals.js';
import { Registry } from './registry.js';

const [A, B] = [1, 2] as [Address, Address];

/** Two centrals that can contact each other. */
class Pair {
  now = 0;
  readonly registries = { a: new Registry(), b: new Registry() };
  readonly ended: string[] = [];
  readonly contested: string[] = [];
  readonly a = this.#central(A, 'a');
  readonly b = this.#central(B, 'b');
  messages = 0;

  #central(self: Address, name: 'a' | 'b'): DuplicateCentrals {
    const env = {
      nameOf: (address: Address) => (address === A ? 'a' : 'b'),
      send: (to: Address, message: Message) => this.#deliver(self, to, message),
      superseded: () => this.ended.push(name),
      contested: () => this.contested.push(name),
    };
    const settings = { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS };
    return new DuplicateCentrals(env, this.registries[name], { name, self, settings });
  }

  #deliver(from: Address, to: Address, message: Message): void {
    expect(++this.messages).toBeLessThan(10);
    if (message.type === 'claim') (to === A ? this.a : this.b).claimReceived(from, message, this.now);
  }

  follow(name: 'a' | 'b'): void {
    this.registries[name].addWorker({
      address: (10 + this.registries[name].workers.size) as Address,
      row: this.registries[name].workers.size,
      name: `w${this.registries[name].workers.size}`,
      slots: 1,
      places: 1,
      capacity: {},
      attributes: [],
      partition: 'general',
      countedAs: undefined,
      draining: false,
      drainDeadline: undefined,
      drained: false,
      drainRequested: false,
      quarantine: undefined,
      lastSeenAt: this.now,
      brokeAt: undefined,
      busy: 0,
      queued: 0,
      used: undefined,
      http: undefined,
    });
  }
}

test('a new central without followers exits, no matter which detects the other first', () => {
  for (const first of ['a', 'b'] as const) {
    const pair = new Pair();
    pair.a.start(0);
    pair.now = 60_000;
    pair.follow('a');
    pair.b.start(pair.now);
    // Some parties have registered with it by chance.
    pair.follow('b');
    pair[first].announce([A, B], pair.now);
    expect(pair.ended).toEqual(['b']);
  }
});

test('of two new centrals the followed one stays, else the first by name', () => {
  for (const [followed, ended] of [
    ['', 'b'],
    ['a', 'b'],
    ['b', 'a'],
    ['ab', 'b'],
  ] as const) {
    for (const first of ['a', 'b'] as const) {
      const pair = new Pair();
      pair.a.start(0);
      pair.b.start(0);
      for (const name of ['a', 'b'] as const) if (followed.includes(name)) pair.follow(name);
      pair[first].announce([A, B], 0);
      pair[first === 'a' ? 'b' : 'a'].announce([A, B], 0);
      expect(new Set(pair.ended)).toEqual(new Set([ended]));
    }
  }
});

test('a suspended central exits on resume if its followers have moved to another', () => {
  const pair = new Pair();
  pair.a.start(0);
  pair.follow('a');
  pair.b.start(10_000);
  pair.now = 60_000;
  pair.follow('b');
  pair.b.announce([A], pair.now);
  expect(pair.ended).toEqual(['a']);
});

test('a followed central stays, whatever another one claims', () => {
  const pair = new Pair();
  pair.a.start(0);
  pair.b.start(0);
  pair.now = 60_000;
  for (const name of ['a', 'b', 'b'] as const) pair.follow(name);
  pair.b.announce([A], pair.now);
  expect(pair.ended).toEqual([]);
  expect(pair.contested).toEqual(['a']);
});

test('neither exits while both have no followers', () => {
  const pair = new Pair();
  pair.a.start(0);
  pair.b.start(0);
  pair.now = 60_000;
  pair.b.announce([A, B], pair.now);
  expect(pair.ended).toEqual([]);
});

test('repeated claims are answered at intervals', () => {
  const pair = new Pair();
  pair.a.start(0);
  pair.now = 60_000;
  pair.follow('a');
  const claim = { type: 'claim', followers: 0, isNew: false, at: [B, B, B] } as const;
  for (let time = 0; time < 100; time++) pair.a.claimReceived(B, claim, pair.now);
  expect(pair.messages).toBe(4);
});
