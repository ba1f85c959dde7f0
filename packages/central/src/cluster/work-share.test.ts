import { expect, test } from 'vitest';
import { WorkShare } from './partitions.js';

const HOUR_MS = 3_600_000;

test('the share of short work follows requests until work completes, then completed work', () => {
  const share = new WorkShare();
  expect(share.shareOfShort(0.17)).toBe(0.17);
  share.add(100, 300, 0);
  share.add(100, 300, 10);
  expect(share.shareOfShort(0.17)).toBe(0.25);
});

test('work of more than an hour ago no longer counts', () => {
  const share = new WorkShare();
  share.add(1_000, 0, 0);
  share.add(100, 300, HOUR_MS + 1);
  expect(share.shareOfShort(0.17)).toBe(0.25);
});

test('the short partition neither vanishes nor grows to most of the cluster', () => {
  const long = new WorkShare();
  long.add(0, 1_000, 0);
  expect(long.shareOfShort(0.17)).toBe(0.01);
  const short = new WorkShare();
  short.add(1_000, 0, 0);
  expect(short.shareOfShort(0.17)).toBe(0.5);
});
