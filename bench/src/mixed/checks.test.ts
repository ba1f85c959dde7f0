import type { JournalEntry, RecordedJob } from '@goshawk/traces';
import { expect, it } from 'vitest';
import { faultsIn, starvedIn } from './checks.js';

const accepted = (id: string, count: number, gang = false) => ({
  id,
  kind: 'accepted',
  at: 0,
  spec: { stages: [{ tasks: { count, run: { sleep: 1 } }, ...(gang ? { gang } : {}) }] },
});
const completed = (id: string, task: number, at: number, runMs: number) => ({
  ...{ id, kind: 'attempt', task, attempt: 1, at, runMs, worker: 'w0' },
  outcome: { kind: 'completed' },
});
const faults = (...entries: object[]) => faultsIn(entries as JournalEntry[]);

it('finds missing and repeated results', () => {
  expect(faults(accepted('a-1', 2), completed('a-1', 0, 10, 5))).toEqual([
    'a-1: 1 of 2 tasks have no result',
  ]);
  expect(faults(accepted('a-1', 1), completed('a-1', 0, 10, 5), completed('a-1', 0, 20, 5))).toEqual([
    'a-1: 1 extra results',
  ]);
});

it('finds a gang that did not start together', () => {
  const ranks = (second: number) => [
    accepted('a-1', 2, true),
    completed('a-1', 0, 9_000, 2_000),
    completed('a-1', 1, second, 2_000),
  ];
  expect(faults(...ranks(9_200))).toEqual([]);
  expect(faults(...ranks(12_000))).toEqual(['a-1: ranks of the gang started 3000 ms apart']);
});

it('finds a user whose jobs wait much longer than those of others', () => {
  const job = (user: string, runtimeSeconds: number): RecordedJob => ({
    job: { submitSeconds: 0, durationsSeconds: Float64Array.of(1), meanSeconds: 1, user },
    runtimeSeconds,
  });
  const fair = [job('ana', 2), job('ana', 2), job('ben', 3)];
  expect(starvedIn(fair)).toEqual([]);
  expect(starvedIn([...fair, job('cleo', 40)])).toEqual([
    'cleo: jobs take 40.0 times their longest task, and 2.0 for all users',
  ]);
});
