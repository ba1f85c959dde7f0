import { LIVE_TIMINGS, type MessageOf } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

const { retryMs } = LIVE_TIMINGS;
const job = { tasks: { count: 2, run: { sleep: 1 } } };

/** Both tasks were given to W1 long ago. */
function given(): DurableBench {
  const bench = new DurableBench();
  bench.members(W1, W2);
  bench.submit(job);
  bench.ask(W1, 1);
  bench.ask(W1, 1);
  bench.commit();
  bench.take();
  bench.now = 11 * retryMs;
  return bench;
}

function sweep(bench: DurableBench) {
  bench.scheduler.wake('sweep', 0, bench.now);
  return bench.take().filter(({ type }) => type === 'resume');
}

function tasks(bench: DurableBench) {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  const [answer] = bench.take().flatMap((message) => (message.type === 'jobDetail' ? message.value : []));
  return (answer as { tasks: object }).tasks;
}

const givenBack = (task: number): MessageOf<'declined'> => ({
  type: 'declined',
  job: 1,
  stage: 0,
  probes: 0,
  placed: { task, attempt: 1 },
});

const held = (task: number) => ({ job: 1, task, attempt: 1, elapsedMs: 40, match: undefined });

describe('a task that seems to run for long', () => {
  test('is audited occasionally, at the workers that should run it', () => {
    const bench = given();
    expect(sweep(bench)).toEqual([{ type: 'resume', previousIncarnations: [], audit: 1 }]);
    bench.now += retryMs;
    expect(sweep(bench)).toEqual([]);
    bench.now += 10 * retryMs;
    expect(sweep(bench)).toHaveLength(1);
  });

  test('is resent to a worker that does not know it, because it may be in flight', () => {
    const bench = given();
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0)], audit: 1 });
    bench.commit();
    expect(bench.take()).toMatchObject([{ type: 'run', task: 1, attempt: 1 }]);
    expect(tasks(bench)).toMatchObject({ running: 2 });
  });

  test('waits again when that worker returns it', () => {
    const bench = given();
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0)], audit: 1 });
    bench.receive(W1, givenBack(1));
    expect(tasks(bench)).toMatchObject({ running: 1, waiting: 1 });
    expect(bench.ask(W2, 1)).toMatchObject({ task: 1, attempt: 2 });
  });

  test('is unaffected by a delayed answer to an earlier audit', () => {
    const bench = given();
    sweep(bench);
    bench.now += 11 * retryMs;
    expect(sweep(bench)).toEqual([{ type: 'resume', previousIncarnations: [], audit: 2 }]);
    for (const audit of [0, 1]) bench.receive(W1, { type: 'holding', tasks: [], audit });
    expect(tasks(bench)).toMatchObject({ running: 2 });
    expect(bench.take().filter(({ type }) => type === 'run')).toEqual([]);
  });

  test('is audited after records that are not durable yet, which may include the task', () => {
    const bench = given();
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0)], audit: 1 });
    bench.receive(W1, givenBack(1));
    bench.take();
    expect(bench.ask(W2, 1)).toBeUndefined();
    // Neither the delay for the disk nor a suspension of this process affects the worker.
    bench.now += 11 * retryMs;
    expect(sweep(bench)).toEqual([]);
    bench.commit();
    const sent = bench.take().filter(({ type }) => type === 'run' || type === 'resume');
    expect(sent.map(({ type }) => type)).toEqual(['run', 'resume', 'resume']);
  });

  test('is unaffected by an unrequested answer, or right after its assignment', () => {
    const bench = given();
    bench.receive(W1, { type: 'holding', tasks: [], audit: 1 });
    expect(tasks(bench)).toMatchObject({ running: 2 });
    bench.submit(job, 'k2', 2);
    bench.ask(W1, 2);
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0), held(1)], audit: 1 });
    expect(tasks(bench)).toMatchObject({ running: 2 });
    expect(bench.scheduler.counters.lost).toBe(0);
  });
});
