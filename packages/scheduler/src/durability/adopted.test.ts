import { type Address, LIMITS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, W1, welcome } from '../lone-scheduler.fixture.js';

const KEEP_MS = 30 * 60_000;

/** A scheduler that has taken over one job of a lost scheduler, which has ended or still runs. */
function adopted(hasEnded: boolean): DurableBench {
  const before = new DurableBench();
  before.members(W1);
  before.submit({ tasks: [{ sleep: 1 }] });
  const task = before.ask(W1, 1)!;
  if (hasEnded) before.end(W1, task);
  before.commit();
  const config = { epoch: 2, adopted: true, endedJobsKeepMs: KEEP_MS };
  const bench = new DurableBench(before.inheritance([3 as Address]), 0, true, config);
  bench.commit();
  return bench;
}

/** Messages at the next heartbeat. */
function heartbeatMessages(bench: DurableBench, now: number) {
  bench.now = now;
  bench.receive(CENTRAL, welcome());
  bench.take();
  bench.scheduler.wake('heartbeat', 0, now);
  const said = bench.take();
  bench.commit();
  return said;
}

test('adopted jobs are kept for their time, and nothing waits for them afterwards', () => {
  const bench = adopted(true);
  expect(heartbeatMessages(bench, KEEP_MS - 1)).toMatchObject([{ type: 'heartbeat' }]);
  // Forgetting them must be recorded.
  expect(heartbeatMessages(bench, KEEP_MS + 1)).toMatchObject([{ type: 'heartbeat' }]);
  expect(heartbeatMessages(bench, KEEP_MS + 2)).toMatchObject([
    { type: 'enlist', durable: false },
    { type: 'leave' },
  ]);
});

test('active adopted jobs are kept for as long as they run', () => {
  const bench = adopted(false);
  expect(heartbeatMessages(bench, 10 * KEEP_MS)).toMatchObject([{ type: 'heartbeat' }]);
  expect(heartbeatMessages(bench, 20 * KEEP_MS)).toMatchObject([{ type: 'heartbeat' }]);
});

test('an empty takeover answers requests for a while', () => {
  const config = { epoch: 2, adopted: true };
  const bench = new DurableBench(new DurableBench().inheritance(), 0, true, config);
  expect(heartbeatMessages(bench, LIMITS.endedAgeMinMs)).toMatchObject([{ type: 'heartbeat' }]);
  expect(heartbeatMessages(bench, LIMITS.endedAgeMinMs + 1)).toMatchObject([
    { type: 'enlist' },
    { type: 'leave' },
  ]);
});
