import {
  type Address,
  DEFAULT_POLICY,
  LIMITS,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type Millis,
  type UserGrant,
} from '@goshawk/core';
import { expect, test } from 'vitest';
import { Central } from '../central.js';

const [A, B, RESTARTED] = [1, 2, 3] as [Address, Address, Address];

/** A cluster in which ann has at most 10 waiting tasks. */
class Bench {
  #central: Central;
  #sent: { to: Address; message: Message }[] = [];

  constructor() {
    this.#central = this.#start();
    for (const each of [A, B]) this.enlist(each, `t${each}`);
  }

  #start(): Central {
    const users = new Map<string, UserGrant>([
      ['ann', { weight: 1, limits: { waiting: 10 }, project: 'bio' }],
      ['@bio', { weight: 1, limits: { waiting: 20 } }],
    ]);
    const settings = { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS };
    const central = new Central(
      { name: 'central', self: 9 as Address, settings, users },
      {
        random: () => 0.5,
        send: (to, message) => void this.#sent.push({ to, message }),
        setTimer() {},
        clearTimer() {},
        nameOf: (address) => `tcp://host${address}:1!s/0`,
      },
    );
    central.start(0);
    return central;
  }

  /** Replaces central by one that knows no schedulers. */
  restarts(): void {
    this.#central = this.#start();
  }

  wake(now: Millis): void {
    this.#central.wake('lease', 0, now);
  }

  enlist(from: Address, tag: string, previousIncarnations: Address[] = [], epoch = 0): void {
    const more = { epoch, adopted: false, durable: true, draining: false, http: undefined, endpoint: '' };
    const enlist = { type: 'enlist', name: `s-${tag}`, tag, previousIncarnations, ...more } as const;
    this.#central.receive(from, enlist, 0);
  }

  reports(from: Address, waiting: number, ...users: string[]): void {
    const rows = (users.length > 0 ? users : ['ann']).map((user) => ({ user, waiting, journal: 0 }));
    this.#central.receive(from, { type: 'holdings', users: rows }, 0);
  }

  leaves(from: Address): void {
    this.#central.receive(from, { type: 'leave' }, 0);
  }

  /** Waiting tasks of ann at other schedulers, as reported to one. */
  elsewhere(to: Address, now: Millis): number {
    return this.limits(to, now).elsewhere.find(({ user }) => user === 'ann')?.waiting ?? 0;
  }

  limits(to: Address, now: Millis): MessageOf<'limits'> {
    this.#sent = [];
    this.#central.receive(to, { type: 'heartbeat', busy: 0, queued: 0, used: undefined }, now);
    const limits = this.#sent.find((sent) => sent.to === to && sent.message.type === 'limits');
    return limits!.message as MessageOf<'limits'>;
  }
}

test('the usage at a scheduler that is away still counts', () => {
  const bench = new Bench();
  bench.reports(A, 7);
  bench.leaves(A);
  expect(bench.elsewhere(B, 100)).toBe(7);
});

test.each([
  ['restarted', 0],
  ['taken over', 2],
])('the usage at a scheduler that was %s counts once, and not against itself', (_how, epoch) => {
  const bench = new Bench();
  bench.reports(A, 7);
  bench.leaves(A);
  bench.enlist(RESTARTED, 't1', [A], epoch);
  expect([bench.elsewhere(B, 100), bench.elsewhere(RESTARTED, 100)]).toEqual([7, 0]);
  bench.reports(RESTARTED, 6);
  expect(bench.elsewhere(B, 200)).toBe(6);
});

test('a scheduler that is away or was taken over has its part of the limits, once for each journal', () => {
  const bench = new Bench();
  bench.restarts();
  bench.enlist(B, 't2', [], 1);
  bench.enlist(A, 't1');
  const { leaseMs } = LIVE_TIMINGS;
  expect(bench.limits(A, leaseMs - 1).part).toBeUndefined();
  bench.wake(leaseMs);
  expect(bench.limits(A, leaseMs).part).toEqual({ index: 0, of: 2 });
  bench.leaves(A);
  expect(bench.limits(B, leaseMs).part).toEqual({ index: 1, of: 2 });
  bench.enlist(RESTARTED, 't1', [A], 2);
  expect(bench.limits(B, leaseMs).part).toEqual({ index: 1, of: 2 });
  expect(bench.limits(RESTARTED, leaseMs).part).toEqual({ index: 0, of: 2 });
});

test('users are charged to their project only, whatever their names are', () => {
  const bench = new Bench();
  bench.reports(A, 10, '@bio', 'bio', '*', '', 'ann');
  const { elsewhere, projectsElsewhere } = bench.limits(B, 100);
  expect(projectsElsewhere).toEqual([{ user: 'bio', waiting: 10, journal: 0 }]);
  expect(elsewhere.map(({ user, waiting }) => [user, waiting])).toEqual(
    ['@bio', 'bio', '*', '', 'ann'].map((user) => [user, 10]),
  );
});

test('of very many users, those with the most waiting tasks count at other schedulers', () => {
  const bench = new Bench();
  const names = Array.from({ length: LIMITS.usageListedMax }, (_, index) => `user ${index}`);
  bench.reports(A, 1, ...names);
  bench.reports(B, 9, 'ann', 'zoe');
  bench.enlist(RESTARTED, 't3');
  const { elsewhere } = bench.limits(RESTARTED, 100);
  expect(elsewhere).toHaveLength(LIMITS.usageListedMax);
  expect(elsewhere.slice(0, 2).map(({ user }) => user)).toEqual(['ann', 'zoe']);
});
