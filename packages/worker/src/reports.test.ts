import type { Address, MessageOf } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { TaskRef } from './entry.js';
import { Reports } from './reports.js';

const OWNER = 2 as Address;
const SUCCESSOR = 3 as Address;
const MINUTE_MS = 60_000;

const report = (number: number) => ({ type: 'ended', report: number }) as MessageOf<'ended'>;

function sentTo(reports: Reports, now: number): Address[] {
  const to: Address[] = [];
  reports.resend(1_000, now, ({ owner }) => to.push(owner));
  return to;
}

test('a report is repeated until its owner has confirmed it', () => {
  const reports = new Reports();
  reports.keep(OWNER, report(1), 0);
  expect(sentTo(reports, 1_000)).toEqual([OWNER]);
  expect(sentTo(reports, 1_500)).toEqual([]);
  reports.confirm(OWNER, 1);
  expect(sentTo(reports, 3_000)).toEqual([]);
});

test('a report is dropped after a quarter of an hour without its owner', () => {
  const reports = new Reports();
  reports.keep(OWNER, report(1), 0);
  expect(sentTo(reports, 15 * MINUTE_MS)).toEqual([OWNER]);
  expect(sentTo(reports, 16 * MINUTE_MS)).toEqual([]);
  expect(reports.size).toBe(0);
});

test('a takeover restarts the time for which a report is kept', () => {
  const reports = new Reports();
  reports.keep(OWNER, report(1), 0);
  reports.rehome(OWNER, SUCCESSOR, 9 * MINUTE_MS);
  expect(sentTo(reports, 20 * MINUTE_MS)).toEqual([SUCCESSOR]);
});

test('a report that another process has kept is as old as its task, and no older for its expiry', () => {
  const reports = new Reports();
  reports.keep(OWNER, { ...report(1), endedAgoMs: 20 * MINUTE_MS }, MINUTE_MS);
  expect(sentTo(reports, 2 * MINUTE_MS)).toEqual([OWNER]);
  expect([...reports.complete(3 * MINUTE_MS)]).toMatchObject([{ message: { endedAgoMs: 22 * MINUTE_MS } }]);
});

test('owners with equal task numbers have separate reports', () => {
  const reports = new Reports();
  const task = { job: 7, task: 8, attempt: 1 } as TaskRef;
  const ended = (number: number) => ({ ...report(number), ...task });
  const known = () => [OWNER, SUCCESSOR].map((owner) => reports.has(owner, task));
  expect(known()).toEqual([false, false]);
  reports.keep(OWNER, ended(1), 0);
  expect(known()).toEqual([true, false]);
  reports.keep(SUCCESSOR, ended(2), 0);
  reports.confirm(OWNER, 1);
  expect(known()).toEqual([false, true]);
  expect(reports.has(SUCCESSOR, { ...task, attempt: 2 as TaskRef['attempt'] })).toBe(false);
  reports.dropOwner(SUCCESSOR);
  expect(known()).toEqual([false, false]);
});
