import { PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, W1, welcome } from '../lone-scheduler.fixture.js';

test('a task that has run since before a restart of its scheduler can be preempted', () => {
  const before = new DurableBench(undefined, 0, false);
  before.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
  before.members(W1);
  before.submit({ tasks: [{ sleep: 100 }] } as never);
  before.commit();
  const workers = [{ worker: W1, match: 7 }];
  const matched = { job: 1, stage: 0, workers, noneWaiting: undefined, newcomers: undefined };
  before.receive(CENTRAL, { type: 'matched', ...matched });
  before.commit();
  const after = new DurableBench(before.inheritance(), 0, false);
  after.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
  after.members(W1);
  const held = { job: 1, task: 0, attempt: 1, elapsedMs: 5, match: 7 };
  after.receive(W1, { type: 'holding', audit: 0, tasks: [held] });
  after.commit();
  after.take();
  after.receive(CENTRAL, { type: 'preempt', job: 1, worker: W1, match: 6 });
  expect(after.take()).toEqual([]);
  after.receive(CENTRAL, { type: 'preempt', job: 1, worker: W1, match: 7 });
  expect(after.take()).toMatchObject([{ type: 'evict', job: 1, task: 0, attempt: 1 }]);
});
