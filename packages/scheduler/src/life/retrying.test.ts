import { type Address, COMPLETED, type JobInput, LIVE_TIMINGS, type Outcome } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { backoffMs } from '../job/retrying.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const { leaseMs, retryMs } = LIVE_TIMINGS;
/** A worker on which a task failed gets it again if no other appears for this long. */
const AVOIDED_MS = 120_000;

function sweepUntil(bench: DurableBench, until: number): void {
  for (; bench.now <= until; bench.now += retryMs) bench.scheduler.wake('sweep', 0, bench.now);
}

function submitted(spec: Partial<JobInput>, count = 1): DurableBench {
  const bench = new DurableBench();
  bench.members(W1, W2);
  bench.submit({ tasks: { count, run: { sleep: 1 } }, ...spec });
  bench.commit();
  bench.take();
  return bench;
}

function fails(bench: DurableBench, outcome: Partial<Outcome> = {}): void {
  bench.end(W1, bench.ask(W1, 1)!, { ...FAILED, ...outcome });
  bench.commit();
}

function detail(bench: DurableBench) {
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

function reasons(bench: DurableBench): string[] {
  bench.take();
  bench.receive(CLIENT, { type: 'explainJob', request: 78, id: 's-1', task: 0 });
  const { value } = bench.take().find((message) => message.type === 'jobExplanation')!;
  return [...value.waiting.map(({ reason }) => reason), value.task?.reason ?? ''];
}

describe('a failed task of a job with back-off', () => {
  test('pauses up to twice as long each time, and goes before tasks that never ran', () => {
    const bench = submitted({ retries: 3, retryBackoff: '1s' }, 2);
    for (const fullMs of [1_000, 2_000, 4_000]) {
      fails(bench);
      const dueMs = bench.timers.get('retry 1')! - bench.now;
      expect(dueMs).toBeGreaterThanOrEqual(fullMs / 2);
      expect(dueMs).toBeLessThan(fullMs);
      expect(reasons(bench)).toEqual(expect.arrayContaining(['back-off']));
      expect(reasons(bench).at(-1)).toBe('back-off');
      bench.scheduler.wake('retry', 1, bench.now + dueMs - 1);
      expect(reasons(bench).at(-1)).toBe('back-off');
      bench.now += dueMs;
      bench.scheduler.wake('retry', 1, bench.now);
      expect(reasons(bench).at(-1)).not.toBe('back-off');
      bench.now += AVOIDED_MS;
    }
    fails(bench);
    expect(detail(bench)).toMatchObject({ tasks: { failed: 1, waiting: 1 }, attempts: { failed: 4 } });
    bench.end(W1, bench.ask(W1, 1)!, COMPLETED);
    expect(bench.timers.has('retry 1')).toBe(false);
  });

  test('lets other tasks go first during its pause', () => {
    const bench = submitted({ retries: 1, retryBackoff: '1s', maxRunning: 1 }, 2);
    fails(bench);
    const other = bench.ask(W1, 1)!;
    expect(other.task).toBe(1);
    bench.end(W1, other, COMPLETED);
    expect(bench.ask(W1, 1)).toBeUndefined();
    bench.commit();
    bench.now = 1_000;
    bench.scheduler.wake('retry', 1, bench.now);
    bench.end(W2, bench.ask(W2, 1)!, COMPLETED);
    bench.commit();
    expect(detail(bench).state).toBe('completed');
  });

  test('ends with its job on cancellation or time limit', () => {
    const cancelled = submitted({ retries: 1, retryBackoff: '1s' });
    fails(cancelled);
    cancelled.receive(CLIENT, { type: 'cancelJob', request: 9, id: 's-1' });
    cancelled.scheduler.wake('retry', 1, 1_000);
    expect(detail(cancelled).state).toBe('cancelled');
    const late = submitted({ retries: 1, retryBackoff: '1h', timeLimit: '1m' });
    fails(late);
    late.now = 60_000;
    late.scheduler.wake('timeLimit', 1, late.now);
    expect(detail(late)).toMatchObject({ state: 'failed', failures: [{ code: 'time-limit' }] });
  });

  test('pauses until the same time after a restart of its owner', () => {
    const before = submitted({ retries: 2, retryBackoff: '10m' }, 2);
    before.now = 5_000;
    fails(before);
    const due = before.timers.get('retry 1')!;
    const bench = new DurableBench(before.inheritance([FORMER]), 8_000);
    bench.members(W1);
    bench.commit();
    sweepUntil(bench, leaseMs + 2 * retryMs);
    expect(bench.timers.get('retry 1')).toBeCloseTo(due - 8_000, 6);
    expect(bench.ask(W1, 1)?.task).toBe(1);
    expect(bench.ask(W1, 1)).toBeUndefined();
  });

  test('that restarted before its owner restarted counts as running', () => {
    const before = submitted({ retries: 2, retryBackoff: '1s' });
    fails(before);
    const bench = new DurableBench(before.inheritance([FORMER]), 8_000);
    bench.members(W1);
    bench.receive(W1, {
      type: 'holding',
      audit: 0,
      tasks: [{ job: 1, task: 0, attempt: 2, elapsedMs: 40, match: undefined }],
    });
    bench.scheduler.wake('retry', 1, 1_000);
    bench.commit();
    expect(detail(bench)).toMatchObject({ tasks: { running: 1, waiting: 0 } });
  });
});

describe('exit codes to retry', () => {
  test.each<[Partial<Outcome>, string]>([
    [{ exitCode: 75 }, 'running'],
    [{ signal: 'SIGKILL' }, 'running'],
    [{ exitCode: 1 }, 'failed'],
    [{ signal: 'SIGSEGV' }, 'failed'],
    [{ kind: 'timeout', errorCode: 'timeout' }, 'failed'],
    [{ errorCode: 'module-threw' }, 'failed'],
  ])('of 75 and 137: %j leaves the job %s', (outcome, state) => {
    const bench = submitted({ retries: 5, retryOn: [75, 137] });
    fails(bench, outcome);
    expect(detail(bench).state).toBe(state);
  });
});

test.each([
  ['SIGXCPU', 152],
  ['SIGXFSZ', 153],
  ['SIGSYS', 159],
])('a task ended by %s is retried if %d is', (signal, code) => {
  const bench = submitted({ retries: 5, retryOn: [code] });
  fails(bench, { signal });
  expect(detail(bench).state).toBe('running');
});

test('a task ended by a signal without a number is not retried for 128', () => {
  const bench = submitted({ retries: 5, retryOn: [128] });
  fails(bench, { signal: 'SIGOTHER' });
  expect(detail(bench).state).toBe('failed');
});

test('a pause is deterministic by seed, differs between tasks, and is bounded', () => {
  const spec = { retryBackoffMs: 1_000, seed: 'x' } as never;
  expect(backoffMs(spec, 's-1', 0, 1)).toBe(backoffMs(spec, 's-2', 0, 1));
  expect(backoffMs(spec, 's-1', 0, 1)).not.toBe(backoffMs(spec, 's-1', 1, 1));
  expect(backoffMs(spec, 's-1', 0, 1_000)).toBeLessThanOrEqual(300_000);
  expect(
    backoffMs({ ...(spec as object), retryBackoffMs: 3_600_000 } as never, 's-1', 0, 9),
  ).toBeGreaterThanOrEqual(1_800_000);
});
