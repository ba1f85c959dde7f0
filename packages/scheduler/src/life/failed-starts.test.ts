import { type Address, COMPLETED, type Outcome } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

const W3 = 13 as Address;
const FORMER = 3 as Address;

const notStarted = (errorCode: string): Outcome => ({
  ...FAILED,
  kind: 'lost',
  errorCode,
  errorMessage: 'why',
});

interface Detail {
  readonly state: string;
  readonly attempts: { readonly total: number; readonly failed: number; readonly lost: number };
  readonly failures: readonly { readonly code: string }[];
}

function detail(bench: DurableBench): Detail {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  const answer = bench.take().find((message) => message.type === 'jobDetail');
  return answer!.value as Detail;
}

function submitted(...workers: Address[]): DurableBench {
  const bench = new DurableBench();
  bench.members(...workers);
  bench.submit({ tasks: [{ exec: ['a-command'] }] });
  return bench;
}

/** A worker on which a task failed gets it again if no other appears for this long. */
const AVOIDED_MS = 120_000;

function fails(bench: DurableBench, worker: Address, errorCode: string): void {
  bench.now += AVOIDED_MS;
  bench.end(worker, bench.ask(worker, 1)!, notStarted(errorCode));
  bench.commit();
}

describe('a task that cannot be started', () => {
  test('uses no retry if its worker cannot start processes', () => {
    const bench = submitted(W1, W2, W3);
    for (let time = 0; time < 50; time++) fails(bench, W1, 'process-limit');
    bench.end(W2, bench.ask(W2, 1)!, COMPLETED);
    bench.commit();
    expect(detail(bench)).toMatchObject({ state: 'completed', attempts: { total: 1, failed: 0, lost: 0 } });
  });

  test('is retried elsewhere if its program is missing, and fails after three workers', () => {
    const bench = submitted(W1, W2, W3);
    for (let time = 0; time < 20; time++) fails(bench, W1, 'no-such-folder');
    fails(bench, W2, 'no-such-folder');
    expect(detail(bench)).toMatchObject({ state: 'waiting', firstStartMs: undefined });
    fails(bench, W3, 'no-such-folder');
    expect(detail(bench)).toMatchObject({
      state: 'failed',
      attempts: { total: 1, failed: 1, lost: 0 },
      failures: [{ code: 'no-such-folder' }],
    });
  });

  test('fails immediately with a single worker', () => {
    const bench = submitted(W1);
    fails(bench, W1, 'command-not-found');
    expect(detail(bench)).toMatchObject({ state: 'failed', failures: [{ code: 'command-not-found' }] });
  });

  test('uses no retry if its worker is stopped, for any number of updates', () => {
    const bench = submitted(W1, W2);
    for (let time = 0; time < 20; time++) fails(bench, W1, 'worker-stopped');
    bench.end(W2, bench.ask(W2, 1)!, COMPLETED);
    bench.commit();
    expect(detail(bench)).toMatchObject({ state: 'completed', attempts: { failed: 0, lost: 20 } });
  });

  test('does not count as killing its workers, even after a restart of its owner', () => {
    const before = submitted(W1, W2, W3);
    for (let time = 0; time < 20; time++) fails(before, W1, 'no-memory');
    const bench = new DurableBench(before.inheritance([FORMER]), 1_000);
    bench.commit();
    bench.members(W1, W2);
    for (const worker of [W1, W2]) bench.receive(worker, { type: 'holding', tasks: [], audit: 0 });
    bench.end(W2, bench.ask(W2, 1)!, COMPLETED);
    bench.commit();
    expect(detail(bench)).toMatchObject({ state: 'completed', attempts: { total: 1, failed: 0, lost: 0 } });
  });

  test('ends its job immediately, regardless of retries', () => {
    const bench = new DurableBench();
    bench.members(W1, W2, W3);
    bench.submit({ tasks: { count: 50, run: { exec: ['a-command'] } }, retries: 5 });
    let asks = 0;
    for (; asks < 500 && detail(bench).state !== 'failed'; asks++) {
      const worker = [W1, W2, W3][asks % 3]!;
      bench.commit();
      const task = bench.ask(worker, 1);
      if (task !== undefined) bench.end(worker, task, notStarted('command-not-found'));
      bench.commit();
    }
    bench.commit();
    expect(detail(bench)).toMatchObject({ state: 'failed', attempts: { total: 50, failed: 50 } });
    expect(asks).toBeLessThan(10);
  });

  test('is tried on more workers if other tasks of its job complete', () => {
    const workers = [W1, W2, W3, 14, 15, 16, 17] as Address[];
    const bench = new DurableBench();
    bench.members(...workers);
    bench.submit({ tasks: { count: 3, run: { exec: ['a-command'] } } });
    bench.end(17 as Address, bench.ask(17 as Address, 1)!, COMPLETED);
    for (const worker of workers.slice(0, 5)) {
      bench.commit();
      bench.end(worker, bench.ask(worker, 1)!, notStarted('no-such-folder'));
    }
    bench.commit();
    expect(detail(bench).state).toBe('running');
  });
});
