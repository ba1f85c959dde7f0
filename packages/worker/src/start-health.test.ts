import { type Address, LIVE_TIMINGS, type Message, type Outcome } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Membership } from './membership.js';
import { StartHealth } from './start-health.js';

const CENTRAL = 1 as Address;

function bench() {
  const said: string[] = [];
  const pausesMs: number[] = [];
  const membership = new Membership();
  membership.welcome(CENTRAL, { policy: {} as never, timings: LIVE_TIMINGS }, 0);
  const counters = { pauses: 0 } as never;
  let now = 0;
  const env = {
    random: () => 0.5,
    send: (_to: Address, message: Message) => said.push(message.type === 'quarantine' ? message.reason : '?'),
    setTimer: (_timer: string, _key: number, at: number) => pausesMs.push(at - now),
    clearTimer() {},
    nameOf: () => '',
  };
  const health = new StartHealth(env, membership, counters);
  const ended = (errorCode: string, kind: Outcome['kind'] = 'lost') =>
    health.ended({ kind, errorCode, errorMessage: 'why' } as Outcome, now);
  const pass = (ms: number) => {
    now += ms;
    return health.wake(now);
  };
  const unfit = (user?: string) => health.unfit({ reason: 'tasks fail here', user }, now);
  const completes = (user?: string) => {
    health.ran(0, user);
    health.completed(0, now);
  };
  return { health, said, pausesMs, ended, pass, unfit, completes };
}

test('a worker whose system fails all starts quarantines itself, for twice as long each time', () => {
  const { health, said, pausesMs, ended, pass } = bench();
  for (let time = 0; time < 3; time++) {
    expect(ended('process-limit')).toBe(true);
    expect(health.isQuarantined).toBe(true);
    expect(pass(1)).toBe(false);
    expect(pass(10_000)).toBe(true);
    expect(health.isQuarantined).toBe(false);
  }
  expect(pausesMs).toEqual([200, 400, 800]);
  expect(said).toEqual(['process-limit: why', '', 'process-limit: why', '', 'process-limit: why', '']);
  health.started();
  ended('no-memory');
  expect(pausesMs.at(-1)).toBe(200);
  for (let time = 0; time < 30; time++) {
    pass(1e9);
    ended('no-memory');
  }
  expect(pausesMs.at(-1)).toBe(5 * 60_000);
});

test('a missing program or file of a task does not quarantine the worker', () => {
  const { health, ended } = bench();
  for (let task = 0; task < 100; task++) expect(ended('command-not-found')).toBe(false);
  expect(health.isQuarantined).toBe(false);
});

test('a worker that fails tasks that complete elsewhere is quarantined longer each time, until one completes', () => {
  const { health, said, pausesMs, pass, unfit, completes } = bench();
  for (let time = 0; time < 10; time++) {
    expect(unfit()).toBe(true);
    expect(unfit()).toBe(false);
    health.started();
    pass(1e6);
  }
  expect(said[0]).toBe('tasks fail here');
  expect(pausesMs.slice(0, 3)).toEqual([5_000, 10_000, 20_000]);
  expect(pausesMs.at(-1)).toBe(5 * 60_000);
  completes();
  unfit();
  expect(pausesMs.at(-1)).toBe(5_000);
});

test('the evidence of one user counts in full if no other user has completed a task there', () => {
  const { pausesMs, pass, unfit, completes } = bench();
  completes('ann');
  for (let time = 0; time < 10; time++) {
    expect(unfit('ann')).toBe(true);
    pass(pausesMs.at(-1)!);
  }
  expect(pausesMs.slice(0, 3)).toEqual([5_000, 10_000, 20_000]);
  expect(pausesMs.at(-1)).toBe(5 * 60_000);
});

test('the evidence of one user does not keep a worker from others who completed tasks there in the last minute', () => {
  const { health, pass, unfit, completes } = bench();
  for (let time = 0; time < 100; time++) {
    completes(time % 2 === 0 ? 'ann' : undefined);
    pass(50_000);
    completes('mallory');
    for (let again = 0; again < 10; again++) {
      expect(unfit('mallory')).toBe(false);
      pass(100);
    }
  }
  expect(health.isQuarantined).toBe(false);
});

test('the evidence of one user keeps a worker from others for a twelfth of the time since they used it', () => {
  const { pausesMs, pass, unfit, completes } = bench();
  completes('ann');
  let idleMs = 60_000;
  pass(idleMs);
  while (idleMs < 10 * 60_000) {
    expect(unfit('mallory')).toBe(true);
    expect(pausesMs.at(-1)).toBeLessThanOrEqual(idleMs / 12);
    idleMs += pausesMs.at(-1)!;
    pass(pausesMs.at(-1)!);
  }
  expect(pausesMs.slice(0, 2)).toEqual([5_000, 5_416]);
  pass(24 * 60 * 60_000);
  unfit('mallory');
  expect(pausesMs.at(-1)).toBe(5 * 60_000);
});

test('the evidence of two users counts in full until a task of one of them completes there', () => {
  const { pausesMs, pass, unfit, completes } = bench();
  const pause = (user: string) => {
    if (unfit(user)) pass(pausesMs.at(-1)!);
  };
  completes('cy');
  pause('ann');
  expect(pausesMs).toEqual([]);
  for (const user of ['bob', 'ann', 'bob']) pause(user);
  expect(pausesMs).toEqual([5_000, 10_000, 20_000]);
  completes('bob');
  pause('ann');
  expect(pausesMs).toHaveLength(3);
});

test('a released worker is quarantined for a short time again', () => {
  const { health, said, pausesMs, pass, unfit } = bench();
  expect(health.release()).toBe(false);
  for (let time = 0; time < 3; time++) {
    unfit();
    if (time < 2) pass(1e6);
  }
  expect(health.release()).toBe(true);
  expect([health.isQuarantined, said.at(-1)]).toEqual([false, '']);
  unfit();
  expect(pausesMs).toEqual([5_000, 10_000, 20_000, 5_000]);
});

test('a task that runs alone keeps others away until it ends, or for a limited time', () => {
  const { health, said, pass } = bench();
  expect(health.startAlone(2, 'a-1', 7, 10_000, 0)).toBe(true);
  expect(health.release()).toBe(false);
  expect(said[0]).toContain('task 7 of a-1');
  expect(health.endAlone(1)).toBe(false);
  expect(health.isQuarantined).toBe(true);
  expect(health.endAlone(2)).toBe(true);
  expect(health.isQuarantined).toBe(false);
  health.startAlone(2, 'a-1', 7, 10_000, 0);
  expect(pass(9_999)).toBe(false);
  expect(pass(1)).toBe(true);
  expect(health.endAlone(2)).toBe(false);
});

test('failed and lost tasks do not count against the worker', () => {
  const { ended } = bench();
  for (let time = 0; time < 3; time++) {
    expect(ended('exit-code', 'failed')).toBe(false);
    expect(ended('worker-stopped')).toBe(false);
    expect(ended('command-not-found', 'failed')).toBe(false);
  }
});

test('a worker whose disk is full is quarantined while that is reported, and soon not after that', () => {
  const { health, said, pass } = bench();
  const isFull = (now: number): boolean => health.diskFull('the disk is full', now);
  expect(isFull(0)).toBe(true);
  for (let second = 5; second <= 60; second += 5) {
    expect(pass(5_000)).toBe(false);
    expect(isFull(1_000 * second)).toBe(false);
  }
  expect(health.isQuarantined).toBe(true);
  expect(pass(13_000)).toBe(true);
  expect(said).toEqual(['the disk is full', '']);
});

test('a disk that is full during another quarantine causes one after it', () => {
  const { health, pass, unfit } = bench();
  unfit();
  expect(health.diskFull('the disk is full', 1_000)).toBe(false);
  expect(pass(5_000)).toBe(true);
  expect(health.diskFull('the disk is full', 6_000)).toBe(true);
});
