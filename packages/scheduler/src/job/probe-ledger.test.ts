import type { Address } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ProbeLedger } from './probe-ledger.js';

const WORKERS = 5;

test('it has the same count per worker as a map of sums', () => {
  const change = fc.tuple(fc.nat(WORKERS - 1), fc.integer({ min: -3, max: 3 }));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 3_000 }), (changes) => {
      const ledger = new ProbeLedger();
      const sums = new Array<number>(WORKERS).fill(0);
      for (const [worker, probes] of changes) {
        ledger.add(worker as Address, probes);
        sums[worker]! += probes;
      }
      expect(ledger.outstanding).toBe(sums.reduce((sum, probes) => sum + probes, 0));
      const holding = [...sums.entries()].filter(([, sum]) => sum !== 0);
      expect([...ledger.byWorker()].sort(([one], [other]) => one - other)).toEqual(holding);
      for (const [worker, sum] of sums.entries()) expect(ledger.at(worker as Address)).toBe(sum);
    }),
    { seed: 1 },
  );
});

test('clearing removes all probes', () => {
  const ledger = new ProbeLedger();
  ledger.add(3 as Address, 2);
  ledger.clear();
  expect(ledger.outstanding).toBe(0);
  expect(ledger.byWorker().size).toBe(0);
});

test('repeated theft of probes does not make it grow', () => {
  const ledger = new ProbeLedger();
  ledger.add(0 as Address, 1);
  for (let i = 0; i < 100_000; i++) {
    ledger.add((i % WORKERS) as Address, -1);
    ledger.add(((i + 1) % WORKERS) as Address, 1);
  }
  expect(ledger.entryCount).toBeLessThan(2_000);
  expect([...ledger.byWorker()]).toEqual([[100_000 % WORKERS, 1]]);
});
