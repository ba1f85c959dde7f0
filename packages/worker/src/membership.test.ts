import { type Address, DEFAULT_POLICY, LIVE_TIMINGS, type MessageOf, RELIABLE_TIMINGS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Membership } from './membership.js';

function peersMessage(
  version: number,
  since: number,
  joined: number[],
  left: number[] = [],
): MessageOf<'peers'> {
  return {
    type: 'peers',
    version,
    since,
    joined: joined as Address[],
    left: left as Address[],
    ownersLost: [],
    owners: [],
    ownersAway: [],
  };
}

test('the general workers arrive as a complete list, or as changes to the known version', () => {
  const membership = new Membership();
  expect(membership.apply(peersMessage(3, 0, [1, 2]))).toBe(true);
  expect(membership.apply(peersMessage(4, 3, [5, 2], [1]))).toBe(true);
  expect(membership.general).toEqual([5, 2]);
  expect(membership.version).toBe(4);
});

test('an update that skips a version is refused, and an old one has no effect', () => {
  const membership = new Membership();
  membership.apply(peersMessage(3, 0, [1]));
  membership.apply(peersMessage(4, 3, [2]));
  expect(membership.apply(peersMessage(6, 5, [9]))).toBe(false);
  expect(membership.apply(peersMessage(4, 3, [2]))).toBe(true);
  expect(membership.apply(peersMessage(3, 0, [9]))).toBe(true);
  expect(membership.general).toEqual([1, 2]);
  expect(membership.version).toBe(4);
});

test('a received list is never modified, because others share it', () => {
  const membership = new Membership();
  const all = peersMessage(1, 0, [1, 2]);
  membership.apply(all);
  membership.apply(peersMessage(2, 1, [3], [1]));
  expect(all.joined).toEqual([1, 2]);
});

test('an update from another central is accepted even if its version is lower', () => {
  const membership = new Membership();
  const settings = { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS };
  membership.welcome(7 as Address, settings, 0);
  membership.apply(peersMessage(9, 0, [1]));
  membership.welcome(8 as Address, settings, 0);
  membership.apply(peersMessage(2, 0, [2]));
  expect(membership.general).toEqual([2]);
});

test('schedulers arrive with the workers, and lost ones are not asked', () => {
  const membership = new Membership();
  const schedulers = (...owners: number[]) => ({ owners: owners as Address[] });
  membership.apply({ ...peersMessage(1, 0, []), ...schedulers(21, 22) });
  membership.apply({ ...peersMessage(2, 1, []), ...schedulers(23), ownersLost: [21 as Address] });
  expect(membership.schedulers).toEqual([22, 23]);
  membership.apply({ ...peersMessage(3, 0, []), ...schedulers(24) });
  expect(membership.schedulers).toEqual([24]);
});

test('central counts as silent after unanswered heartbeats or without any central, but not if heartbeats are off', () => {
  const membership = new Membership();
  const { heartbeatMs } = LIVE_TIMINGS;
  expect(membership.isUnresponsive(0)).toBe(false);
  membership.welcome(7 as Address, { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS }, 0);
  expect(membership.isUnresponsive(heartbeatMs)).toBe(false);
  expect(membership.isUnresponsive(2 * heartbeatMs)).toBe(true);
  membership.seen(2 * heartbeatMs);
  expect(membership.isUnresponsive(2 * heartbeatMs)).toBe(false);
  membership.forget();
  expect(membership.isUnresponsive(2 * heartbeatMs)).toBe(true);
  membership.welcome(8 as Address, { policy: DEFAULT_POLICY, timings: RELIABLE_TIMINGS }, 0);
  expect(membership.isUnresponsive(1e9)).toBe(false);
});
