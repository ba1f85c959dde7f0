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
  return { health, said, pausesMs, ended, pass };
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
  const { health, said, pausesMs, pass } = bench();
  for (let time = 0; time < 10; time++) {
    expect(health.unfit('tasks fail here', time * 1e6)).toBe(true);
    expect(health.unfit('tasks fail here', time * 1e6)).toBe(false);
    health.started();
    pass(1e6);
  }
  expect(said[0]).toBe('tasks fail here');
  expect(pausesMs.slice(0, 3)).toEqual([5_000, 10_000, 20_000]);
  expect(pausesMs.at(-1)).toBe(5 * 60_000);
  health.completed();
  health.unfit('tasks fail here', 10e6);
  expect(pausesMs.at(-1)).toBe(5_000);
});

test('a released worker is quarantined for a short time again', () => {
  const { health, said, pausesMs, pass } = bench();
  expect(health.release()).toBe(false);
  for (let time = 0; time < 3; time++) {
    health.unfit('tasks fail here', time * 1e6);
    if (time < 2) pass(1e6);
  }
  expect(health.release()).toBe(true);
  expect([health.isQuarantined, said.at(-1)]).toEqual([false, '']);
  health.unfit('tasks fail here', 2e6);
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
  const { health, pass } = bench();
  health.unfit('tasks fail here', 0);
  expect(health.diskFull('the disk is full', 1_000)).toBe(false);
  expect(pass(5_000)).toBe(true);
  expect(health.diskFull('the disk is full', 6_000)).toBe(true);
});
