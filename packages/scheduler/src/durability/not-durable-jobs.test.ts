import { PRESETS } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, W2, welcome } from '../lone-scheduler.fixture.js';

/** A scheduler whose journal others may take over. */
function sharing(): DurableBench {
  const bench = new DurableBench(undefined, 0, true, { epoch: 1 });
  bench.members(W1, W2);
  bench.commit();
  bench.take();
  return bench;
}

const typesOf = (bench: DurableBench) => bench.take().map(({ type }) => type);
const BY = { id: 'other-7', accepted: undefined, ended: undefined };

describe('a job in a shared journal', () => {
  test('looks for workers immediately, but is assigned to none before it is durable', () => {
    const bench = sharing();
    bench.submit({ tasks: [{ sleep: 1 }] });
    expect(new Set(typesOf(bench))).toEqual(new Set(['probe']));
    expect(bench.ask(W1, 1)).toBeUndefined();
    bench.commit();
    expect(typesOf(bench)).toEqual(['accepted', 'run', 'cancelProbes']);
  });

  test('is not assigned to a seeking worker either', () => {
    const bench = sharing();
    bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk }, estimator: 'given' }));
    bench.submit({ estimate: 1, tasks: [{ sleep: 1 }, { sleep: 1 }] });
    bench.take();
    const seek = (ask: number) => bench.receive(W1, { type: 'seek', ask, again: false, spare: {} });
    seek(1);
    expect(typesOf(bench)).toEqual(['none']);
    bench.commit();
    bench.take();
    seek(2);
    expect(typesOf(bench)).toContain('run');
  });

  test('releases waiting workers while the journal is unreachable, and continues afterwards', () => {
    const bench = sharing();
    bench.submit({ tasks: [{ sleep: 1 }] });
    expect(bench.ask(W1, 1)).toBeUndefined();
    bench.scheduler.journalChanged({ kind: 'away', message: 'it does not answer' }, bench.now);
    expect(typesOf(bench)).toEqual(['none']);
    bench.receive(W2, { type: 'ask', ask: 1, again: false, job: 1, stage: 0, placed: undefined });
    expect(typesOf(bench)).toEqual(['none']);
    bench.scheduler.journalChanged({ kind: 'open' }, bench.now);
    bench.commit();
    expect(typesOf(bench)).toContain('probe');
    expect(bench.ask(W1, 1)).toMatchObject({ task: 0, attempt: 1 });
  });

  test('is not placed before it is durable', () => {
    const bench = sharing();
    bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.central } }));
    bench.take();
    bench.submit({ tasks: [{ sleep: 1 }] });
    expect(bench.take()).toEqual([]);
    bench.commit();
    expect(typesOf(bench)).toEqual(['accepted', 'place']);
  });

  test('does not exist for clients if another job has its key', () => {
    const bench = sharing();
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.take();
    expect(bench.ask(W1, 1)).toBeUndefined();
    bench.scheduler.keyTaken(1, BY);
    expect(new Set(typesOf(bench))).toEqual(new Set(['cancelProbes']));
    bench.commit();
    expect(typesOf(bench)).toEqual(['refused', 'none']);
    expect(bench.scheduler.activeJobs).toBe(0);
  });

  test('lets no other job with its key be refused before it is durable', () => {
    const bench = sharing();
    const answers = () => bench.take().filter((message) => 'request' in message);
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.submit({ tasks: [{ sleep: 2 }] }, 'k', 2);
    expect(answers()).toEqual([]);
    bench.commit();
    expect(answers()).toMatchObject([{ type: 'accepted' }, { type: 'refused', code: 'key-conflict' }]);
  });

  test('lets another job with its key be submitted again if the journal refuses it', () => {
    const bench = sharing();
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.submit({ tasks: [{ sleep: 2 }] }, 'k', 2);
    bench.scheduler.keyTaken(1, BY);
    bench.commit();
    const answers = bench.take().filter((message) => 'request' in message);
    expect(answers).toMatchObject([
      { type: 'refused', request: 1, code: 'not-ready' },
      { type: 'refused', request: 2, code: 'not-ready' },
    ]);
    bench.submit({ tasks: [{ sleep: 2 }] }, 'k', 2);
    bench.commit();
    const [answer] = bench.take().filter((message) => 'request' in message);
    expect(answer).toMatchObject({ type: 'accepted', request: 2 });
  });

  test('is sent to no worker if it is cancelled before it is durable', () => {
    const bench = sharing();
    bench.submit({ tasks: [{ sleep: 1 }] });
    expect(bench.ask(W1, 1)).toBeUndefined();
    bench.receive(CLIENT, { type: 'cancelJob', request: 2, id: 's-1' });
    bench.take();
    bench.commit();
    expect(typesOf(bench)).toEqual(['accepted', 'jobSummary', 'none']);
  });
});
