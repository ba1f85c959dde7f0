import { expect, test } from 'vitest';
import { exposition } from './exposition.js';
import { userReadings } from './users.js';

const load = (user: string | undefined, running: number, waiting: number, cpus = running) => ({
  ...{ user, jobs: 1, running, cpus, waiting },
});

/** Running CPUs and waiting tasks by user, as exposed. */
function shown(loads: Parameters<typeof userReadings>[0], max: number): Record<string, [string, string]> {
  const text = exposition(userReadings(loads, max));
  const values = (name: string) =>
    [...text.matchAll(new RegExp(`^goshawk_scheduler_user_${name}{user="(.*)"} (.*)$`, 'gm'))].map(
      ([, user, value]) => [user!, value!] as const,
    );
  const waiting = new Map(values('waiting_tasks'));
  return Object.fromEntries(values('running_cpus').map(([user, cpus]) => [user, [cpus, waiting.get(user)!]]));
}

test('users with the most load have separate series, and all others share one', () => {
  const loads = [load('ann', 1, 0, 64), load('bob', 2, 0), load('cy', 0, 900), load('dan', 1, 1)];
  expect(shown(loads, 2)).toEqual({ cy: ['0', '900'], ann: ['64', '0'], '(other)': ['3', '1'] });
  expect(Object.keys(shown(loads, 4))).toEqual(['cy', 'ann', 'bob', 'dan']);
});

test('the number of series is bounded, and their sum is that of all users', () => {
  const loads = Array.from({ length: 10_000 }, (_, at) => load(`u${at}`, at % 3, at % 5));
  const all = Object.values(shown(loads, 20));
  expect(all).toHaveLength(21);
  const sum = (part: 0 | 1) => all.reduce((total, values) => total + Number(values[part]), 0);
  expect([sum(0), sum(1)]).toEqual([9_999, 20_000]);
});

test('a user at several schedulers of a process has one series', () => {
  expect(shown([load('ann', 1, 2), load('ann', 3, 4)], 5)).toEqual({ ann: ['4', '6'] });
});

test('users with names of special values do not duplicate series', () => {
  const loads = [load('(other)', 1, 0), load('bob', 9, 0), load(undefined, 2, 0), load('(none)', 3, 0)];
  expect(shown(loads, 1)).toEqual({ bob: ['9', '0'], '(other)': ['6', '0'] });
  expect(shown(loads, 9)).toEqual({ bob: ['9', '0'], '(none)': ['5', '0'], '(other)': ['1', '0'] });
});

test('without users there are no series', () => {
  expect(userReadings([load('ann', 1, 2)], 0)).toEqual({});
});
