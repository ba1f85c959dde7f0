import { type Address, LIVE_TIMINGS, type Message, type Outcome } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Fitness } from './fitness.js';
import { Membership } from './membership.js';
import type { Running } from './slots.js';

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
    send: (_to: Address, message: Message) => said.push(message.type === 'aside' ? message.reason : '?'),
    setTimer: (_timer: string, _key: number, at: number) => pausesMs.push(at - now),
    clearTimer() {},
    nameOf: () => '',
  };
  const fitness = new Fitness(env, membership, counters);
  const ended = (errorCode: string, task = 0, kind: Outcome['kind'] = 'lost') =>
    fitness.ended(
      { owner: 2, job: 1, task } as Running,
      { kind, errorCode, errorMessage: 'why' } as Outcome,
      now,
    );
  const pass = (ms: number) => {
    now += ms;
    return fitness.wake(now);
  };
  return { fitness, said, pausesMs, ended, pass };
}

test('a worker whose system starts nothing sets itself aside, each time for twice as long', () => {
  const { fitness, said, pausesMs, ended, pass } = bench();
  for (let time = 0; time < 3; time++) {
    expect(ended('process-limit', time)).toBe(true);
    expect(fitness.isAside).toBe(true);
    expect(pass(1)).toBe(false);
    expect(pass(10_000)).toBe(true);
    expect(fitness.isAside).toBe(false);
  }
  expect(pausesMs).toEqual([200, 400, 800]);
  expect(said).toEqual(['process-limit: why', '', 'process-limit: why', '', 'process-limit: why', '']);
  fitness.started();
  ended('no-memory');
  expect(pausesMs.at(-1)).toBe(200);
  for (let time = 0; time < 30; time++) {
    pass(1e9);
    ended('no-memory');
  }
  expect(pausesMs.at(-1)).toBe(5 * 60_000);
});

test('what a task names and is not there sets nobody aside unless the task comes back', () => {
  const { fitness, ended } = bench();
  for (let task = 0; task < 100; task++) expect(ended('command-not-found', task)).toBe(false);
  expect(ended('command-not-found', 5)).toBe(true);
  expect(fitness.isAside).toBe(true);
});

test('while it is not clear whose fault it is pauses stay short', () => {
  const { pausesMs, ended, pass } = bench();
  for (let time = 0; time < 20; time++) {
    ended('no-such-folder');
    pass(1_000);
  }
  expect(Math.max(...pausesMs)).toBe(500);
});

test('a task that failed, and one that was lost with its run, say nothing of the worker', () => {
  const { ended } = bench();
  for (let time = 0; time < 3; time++) {
    expect(ended('exit-code', 0, 'failed')).toBe(false);
    expect(ended('worker-stopped')).toBe(false);
    expect(ended('command-not-found', 0, 'failed')).toBe(false);
  }
});
