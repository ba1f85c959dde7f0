import type { Address } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { Batch } from '../job/batch.js';
import { ProbeLedger } from '../job/probe-ledger.js';
import { hasStalled, probesRepeated } from './probe-watch.js';

const W1 = 1 as Address;
const PAUSE_MS = 10_000;

test('silent probes are supplemented by more, at growing intervals', () => {
  const batch = { probes: new ProbeLedger() } as unknown as Batch;
  batch.probes.add(W1, 2);
  const sentAt: number[] = [];
  for (let now = 0; now <= 160_000; now += 1_000) {
    if (!hasStalled(batch, PAUSE_MS, now)) continue;
    batch.probes.add(W1, 1);
    probesRepeated(batch, PAUSE_MS, now);
    sentAt.push(now);
  }
  expect(sentAt).toEqual([10_000, 30_000, 70_000, 150_000]);
});

test('any answer ends the silence', () => {
  const batch = { probes: new ProbeLedger() } as unknown as Batch;
  batch.probes.add(W1, 2);
  expect(hasStalled(batch, PAUSE_MS, 0)).toBe(false);
  batch.probes.add(W1, -1);
  expect(hasStalled(batch, PAUSE_MS, 10_000)).toBe(false);
  expect(hasStalled(batch, PAUSE_MS, 19_999)).toBe(false);
  expect(hasStalled(batch, PAUSE_MS, 20_000)).toBe(true);
});
