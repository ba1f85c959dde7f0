import { LIMITS } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from './durable.fixture.js';
import { CLIENT, W1 } from './lone-scheduler.fixture.js';

const job = { tasks: [{ sleep: 1 }, { sleep: 1 }] };

function types(bench: DurableBench): string[] {
  return bench.take().map(({ type }) => type);
}

describe('with a journal', () => {
  test('scheduling starts at once, and the answer waits for the disk', () => {
    const bench = new DurableBench();
    bench.members(W1);
    bench.take();
    bench.submit(job);
    expect(types(bench)).toEqual(['probe', 'probe', 'probe', 'probe']);
    bench.commit();
    expect(types(bench)).toEqual(['answer']);
  });

  test('a submission that comes again before the disk has it is not answered either', () => {
    const bench = new DurableBench();
    bench.submit(job, 'k', 1);
    bench.submit(job, 'k', 2);
    expect(types(bench)).toEqual([]);
    bench.commit();
    expect(bench.take()).toMatchObject([
      { type: 'answer', request: 1, value: { job: 's-1' } },
      { type: 'answer', request: 2, value: { job: 's-1' } },
    ]);
  });

  test('a report is confirmed, and the end told, when the disk has it', () => {
    const bench = new DurableBench();
    bench.members(W1);
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.commit();
    bench.receive(CLIENT, { type: 'watchJob', request: 9, id: 's-1', detail: false });
    bench.end(W1, bench.ask(W1, 1)!);
    expect(types(bench)).toEqual([]);
    bench.scheduler.recorded(bench.records.length - 1);
    // The end of the attempt is durable, that of the job is not.
    expect(types(bench)).toEqual(['confirm']);
    bench.commit();
    expect(bench.take()).toMatchObject([{ type: 'event', value: { kind: 'ended' } }]);
  });

  test('nobody gets an answer from a journal that has failed', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.scheduler.journalFailed();
    bench.commit();
    bench.receive(CLIENT, { type: 'describeJob', request: 2, id: 's-1', spec: false });
    expect(types(bench)).toEqual([]);
  });

  test('a full disk refuses new jobs, and answers about those that are there', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.commit();
    bench.take();
    bench.scheduler.journalFull('the disk of /data is full');
    bench.submit(job, 'another');
    expect(bench.take()).toMatchObject([
      { type: 'refused', code: 'journal-full', message: 'the disk of /data is full' },
    ]);
    bench.submit(job);
    expect(types(bench)).toEqual(['answer']);
    bench.scheduler.journalFull(undefined);
    bench.submit(job, 'another');
    bench.commit();
    expect(types(bench)).toEqual(['answer']);
  });

  test('a job of an earlier incarnation is tried again when there is a policy for it', () => {
    const first = new DurableBench();
    first.members(W1);
    first.submit({ tasks: [{ sleep: 1 }] });
    first.end(W1, first.ask(W1, 1)!, FAILED);
    first.commit();
    const bench = new DurableBench(first.inheritance(), 0, false);
    bench.take();
    bench.receive(CLIENT, { type: 'retryJob', request: 9, key: 'again', id: 's-1' });
    expect(bench.take()).toMatchObject([{ type: 'refused', request: 9, code: 'not-ready' }]);
  });

  test('a disk that falls far behind takes no more jobs for now', () => {
    const bench = new DurableBench();
    for (let i = 0; i < LIMITS.unrecordedJobsMax; i++) bench.accept({ tasks: [{ sleep: 1 }] });
    expect(types(bench)).toEqual([]);
    bench.submit(job, 'one too many', 5);
    bench.commit();
    expect(bench.take().at(-1)).toMatchObject({ type: 'refused', request: 5, code: 'not-ready' });
  });

  test('a key that comes with another job is a conflict', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.submit({ tasks: [{ sleep: 2 }, { sleep: 1 }] }, 'k', 2);
    bench.commit();
    expect(bench.take()).toMatchObject([{ type: 'refused', code: 'key-conflict' }, { type: 'answer' }]);
  });
});
