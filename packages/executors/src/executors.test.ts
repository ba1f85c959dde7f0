import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Executors } from './executors.js';
import { outcomeOf, RecordingSink, record } from './recording.fixture.js';

let executors: Executors;

beforeEach(() => {
  executors = new Executors({ dataFolder: '/nonexistent', allow: { exec: false } });
});

afterEach(() => executors.close());

describe('one executor for all payloads', () => {
  it('runs a sleep', async () => {
    const { outcome, sink } = await outcomeOf(executors, { sleep: 0 });
    expect(outcome).toEqual({ kind: 'completed' });
    expect(sink.calls).toEqual(['started', 'ended']);
  });

  it('reports an invalid payload after start has returned', async () => {
    const { sink } = record(executors, { module: './here.js' });
    expect(sink.calls).toEqual([]);
    expect((await sink.end).outcome).toEqual({
      kind: 'failed',
      error: {
        code: 'bad-payload',
        message: expect.stringContaining('module "./here.js" has no base folder'),
      },
    });
    expect(sink.calls).toEqual(['ended']);
  });

  it('refuses payloads that the worker does not allow', async () => {
    expect((await outcomeOf(executors, { exec: ['true'] })).outcome).toMatchObject({
      error: { code: 'not-allowed', message: 'this worker does not run exec tasks' },
    });
  });

  it('kills running tasks on close, and starts no others', async () => {
    const { sink } = record(executors, { sleep: 1e9 });
    await sink.isStarted;
    await executors.close();
    expect(sink.calls).toEqual(['started', 'ended']);
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'shutdown' });
    expect((await outcomeOf(executors, { sleep: 0 })).outcome).toMatchObject({
      error: { code: 'executor-closed' },
    });
    await executors.close();
  });
});

describe('a sleep that is killed', () => {
  it('ends with the first reason', async () => {
    const { run, sink } = record(executors, { sleep: 1e9 });
    await sink.isStarted;
    run.kill('timeout');
    run.kill('cancelled');
    expect(sink.calls).toEqual(['started']);
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
    run.kill('shutdown');
    expect(sink.calls).toEqual(['started', 'ended']);
  });

  it('has not started if it is killed in the same turn', async () => {
    const { run, sink } = record(executors, { sleep: 1e9 });
    run.kill('cancelled');
    expect((await sink.end).runMs).toBe(0);
    expect(sink.calls).toEqual(['ended']);
  });
});

it('supports sleeps longer than the longest timer', async () => {
  const { run, sink } = record(executors, { sleep: 2 ** 31 + 5 });
  await sink.isStarted;
  // A delay that overflows would fire after 1 ms, so before this one.
  await outcomeOf(executors, { sleep: 5 });
  expect(sink.calls).toEqual(['started']);
  run.kill('cancelled');
  await sink.end;
});

it('runs 10,000 sleeps at once, none of which ends early', async () => {
  const ends = await Promise.all(
    Array.from({ length: 10_000 }, (_, index) => {
      const sink = new RecordingSink();
      const sleepMs = 10 + (index % 20);
      executors.start({ payload: { sleep: sleepMs }, env: {}, outputBytesMax: 0 }, sink);
      return sink.end.then(({ runMs }) => runMs - sleepMs);
    }),
  );
  expect(ends.filter((lateMs) => lateMs < 0)).toEqual([]);
});
