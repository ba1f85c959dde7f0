import type { Address, MessageOf } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Reports } from './reports.js';

const OWNER = 2 as Address;
const SUCCESSOR = 3 as Address;
const MINUTE_MS = 60_000;

const report = (number: number) => ({ type: 'ended', report: number }) as MessageOf<'ended'>;

function sentTo(reports: Reports, now: number): Address[] {
  const to: Address[] = [];
  reports.resend(1_000, now, (owner) => to.push(owner));
  return to;
}

test('a report is sent again until its owner has confirmed it', () => {
  const reports = new Reports();
  reports.keep(OWNER, report(1), 0);
  expect(sentTo(reports, 1_000)).toEqual([OWNER]);
  expect(sentTo(reports, 1_500)).toEqual([]);
  reports.confirm(OWNER, 1);
  expect(sentTo(reports, 3_000)).toEqual([]);
});

test('a report that nobody has wanted for a quarter of an hour is dropped', () => {
  const reports = new Reports();
  reports.keep(OWNER, report(1), 0);
  expect(sentTo(reports, 15 * MINUTE_MS)).toEqual([OWNER]);
  expect(sentTo(reports, 16 * MINUTE_MS)).toEqual([]);
  expect(reports.size).toBe(0);
});

test('an owner that has taken it over has as much time as the one before', () => {
  const reports = new Reports();
  reports.keep(OWNER, report(1), 0);
  reports.readdress(OWNER, SUCCESSOR, 9 * MINUTE_MS);
  expect(sentTo(reports, 20 * MINUTE_MS)).toEqual([SUCCESSOR]);
});
