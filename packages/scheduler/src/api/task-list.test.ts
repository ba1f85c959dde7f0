import { COMPLETED, type JobInput, type MessageOf } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

type Filters = Partial<Omit<MessageOf<'listTasks'>, 'type' | 'request' | 'id'>>;

function answerTo(bench: DurableBench, filters: Filters = {}) {
  bench.commit();
  bench.take();
  const asked = { states: [], stage: undefined, from: 0, limit: 2_000, ...filters };
  bench.receive(CLIENT, { type: 'listTasks', request: 5, id: 's-1', ...asked });
  return bench.take().at(-1)!;
}

function pageOf(bench: DurableBench, filters: Filters = {}) {
  const answer = answerTo(bench, filters);
  if (answer.type !== 'taskPage') throw new Error(`answered with ${JSON.stringify(answer)}`);
  return answer.value;
}

function detail(bench: DurableBench) {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

function submitted(job: JobInput): DurableBench {
  const bench = new DurableBench();
  bench.members(W1, W2);
  bench.submit(job);
  bench.commit();
  bench.take();
  return bench;
}

const run = { exec: ['true'] };
const STAGES: JobInput = {
  stages: [
    { name: 'extract', tasks: { count: 3, run } },
    { name: 'train', after: ['extract'], tasks: { count: 2, run } },
  ],
};

describe('the tasks of a job', () => {
  test('has the peak memory of the last attempt if it was measured, even after a restart', () => {
    const bench = submitted({ tasks: [run, run, run] });
    bench.end(W1, bench.ask(W1, 1)!, { ...FAILED, maxRssBytes: 5_000_000 });
    bench.end(W1, bench.ask(W1, 1)!, { ...COMPLETED, maxRssBytes: 3_000_000 });
    bench.end(W1, bench.ask(W1, 1)!);
    const expected = [5_000_192, 3_000_320, undefined];
    const peaks = (of: DurableBench) => pageOf(of).tasks.map(({ maxRssBytes }) => maxRssBytes);
    expect(peaks(bench)).toEqual(expected);
    const after = new DurableBench(bench.inheritance(), 1_000);
    expect(peaks(after)).toEqual(expected);
  });

  test('are listed one by one, with the outcome of the last attempt', () => {
    const bench = submitted(STAGES);
    bench.now = 1_000;
    const [first, second] = [bench.ask(W1, 1)!, bench.ask(W2, 1)!];
    bench.end(W1, first);
    bench.end(W2, second, { ...FAILED, exitCode: 1 });
    bench.ask(W1, 1);
    bench.now = 3_000;
    const { tasks, total, next, submittedAt } = pageOf(bench);
    expect({ total, next, submittedAt }).toEqual({
      total: 5,
      next: undefined,
      submittedAt: 1_800_000_000_000,
    });
    const ran = { attempt: 1, startedMs: 995, runMs: 5 };
    expect(tasks).toEqual([
      { index: 0, stage: 'extract', state: 'completed', ...ran, worker: 'w11', exitCode: 0 },
      { index: 1, stage: 'extract', state: 'failed', ...ran, worker: 'w12', exitCode: 1, error: 'exit 1' },
      {
        index: 2,
        stage: 'extract',
        state: 'running',
        attempt: 1,
        worker: 'w11',
        startedMs: 1_000,
        runMs: 2_000,
      },
      { index: 3, stage: 'train', state: 'waiting', attempt: 0 },
      { index: 4, stage: 'train', state: 'waiting', attempt: 0 },
    ]);
  });

  test('are filtered by state and stage before they are counted and truncated', () => {
    const bench = submitted(STAGES);
    bench.end(W1, bench.ask(W1, 1)!);
    bench.ask(W1, 1);
    const indices = (filters: Filters) => {
      const { tasks, total, next } = pageOf(bench, filters);
      return { tasks: tasks.map(({ index }) => index), total, next };
    };
    expect(indices({ states: ['waiting'] })).toEqual({ tasks: [2, 3, 4], total: 3, next: undefined });
    expect(indices({ states: ['waiting'], limit: 1 })).toEqual({ tasks: [2], total: 3, next: 3 });
    expect(indices({ states: ['waiting'], limit: 1, from: 3 })).toEqual({ tasks: [3], total: 3, next: 4 });
    expect(indices({ states: ['completed', 'running'] })).toEqual({
      tasks: [0, 1],
      total: 2,
      next: undefined,
    });
    expect(indices({ stage: 'train' })).toEqual({ tasks: [3, 4], total: 2, next: undefined });
    expect(indices({ stage: 'train', states: ['failed'] })).toEqual({ tasks: [], total: 0, next: undefined });
    expect(indices({ from: 99 })).toEqual({ tasks: [], total: 5, next: undefined });
  });

  test('are paged without gaps', () => {
    const bench = submitted({ tasks: { count: 5_001, run } });
    const seen: number[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page: ReturnType<typeof pageOf> = pageOf(bench, { from });
      expect(page.total).toBe(5_001);
      seen.push(...page.tasks.map(({ index }) => index));
      from = page.next;
    }
    expect(seen).toEqual(Array.from({ length: 5_001 }, (_, index) => index));
  });

  test('are refused for an unknown state or stage, with the known ones', () => {
    const bench = submitted(STAGES);
    expect(answerTo(bench, { stage: 'trian' })).toMatchObject({
      type: 'refused',
      code: 'unknown-stage',
      message: 's-1 has no stage "trian"',
      hint: 'its stages are extract, train',
    });
    expect(answerTo(bench, { states: ['placed'] })).toMatchObject({ type: 'refused', code: 'bad-state' });
  });

  test('are the same after a restart', () => {
    const before = submitted(STAGES);
    before.now = 1_000;
    before.end(W1, before.ask(W1, 1)!);
    before.end(W2, before.ask(W2, 1)!, { ...FAILED, exitCode: 3 });
    before.end(W1, before.ask(W1, 1)!);
    const rows = pageOf(before).tasks;
    expect(rows.map(({ state }) => state)).toEqual([
      'completed',
      'failed',
      'completed',
      'cancelled',
      'cancelled',
    ]);
    const bench = new DurableBench(before.inheritance(), 20_000);
    const named = { worker: expect.any(String) };
    expect(pageOf(bench).tasks).toEqual(
      rows.map((row) => (row.worker === undefined ? row : { ...row, ...named })),
    );
  });
});

describe('a stage', () => {
  test('shows whether its tasks completed, failed or were cancelled, with counts', () => {
    const bench = submitted(STAGES);
    expect(detail(bench).stages.map(({ state }) => state)).toEqual(['waiting', 'blocked']);
    const [first, second, third] = [bench.ask(W1, 1)!, bench.ask(W2, 1)!, bench.ask(W1, 1)!];
    expect(detail(bench).stages[0]!.state).toBe('running');
    bench.end(W1, first);
    bench.end(W2, second, FAILED);
    expect(detail(bench).stages[0]).toMatchObject({ state: 'running', counts: { failed: 1, running: 1 } });
    bench.end(W1, third);
    expect(detail(bench).stages).toMatchObject([
      { state: 'failed', unfinished: 0, counts: { total: 3, completed: 2, failed: 1 }, meanRunMs: 5 },
      { state: 'cancelled', unfinished: 0, counts: { total: 2, completed: 0, cancelled: 2 } },
    ]);
  });

  test('that completed shows its state and its run time', () => {
    const bench = submitted({ ...STAGES, estimate: '1m' });
    for (let i = 0; i < 3; i++) bench.end(W1, bench.ask(W1, 1)!);
    const stages = detail(bench).stages;
    expect(stages.map(({ state }) => state)).toEqual(['completed', 'waiting']);
    expect(stages.map(({ meanRunMs }) => meanRunMs)).toEqual([5, undefined]);
  });
});

test('a job with more attempts than the list shows reports that', () => {
  const bench = submitted({ tasks: { count: 101, run } });
  for (let i = 0; i < 100; i++) bench.end(W1, bench.ask(W1, 1)!);
  expect(detail(bench)).toMatchObject({ attemptsTruncated: false });
  bench.end(W1, bench.ask(W1, 1)!, COMPLETED);
  const { attemptList, attemptsTruncated } = detail(bench);
  expect(attemptList).toHaveLength(100);
  expect(attemptsTruncated).toBe(true);
});

test('listed attempts are sampled evenly over all of them', () => {
  const bench = submitted({ tasks: { count: 1_000, run } });
  for (let i = 0; i < 1_000; i++) bench.end(W1, bench.ask(W1, 1)!, COMPLETED);
  const tasks = detail(bench).attemptList.map(({ task }) => task);
  expect(tasks).toHaveLength(100);
  for (const [place, task] of tasks.entries()) expect(Math.abs(task - 10 * place)).toBeLessThan(10);
});

test('a stage shows its command and demand', () => {
  const bench = submitted({ tasks: { count: 2, run: { exec: ['sh', '-c', "echo 'x'"] } } });
  expect(detail(bench).stages).toMatchObject([{ command: "sh -c 'echo '\\''x'\\'''", demand: {} }]);
});

test('a stage says whether its tasks have different commands', () => {
  const differ = (tasks: JobInput['tasks'] & {}) =>
    detail(submitted({ tasks })).stages.map(({ command, commandsDiffer }) => [command, commandsDiffer]);
  expect(differ([{ exec: ['true'] }, { exec: ['sleep', '9'] }])).toEqual([['true', true]]);
  expect(differ([{ exec: ['true'] }, { exec: ['true'] }])).toEqual([['true', undefined]]);
  expect(differ({ count: 2, run: { exec: ['true'] } })).toEqual([['true', undefined]]);
});

test('attempts that were killed with their job are listed', () => {
  const bench = submitted({ tasks: { count: 2, run } });
  const ran = bench.ask(W1, 1)!;
  bench.receive(CLIENT, { type: 'cancelJob', request: 9, id: 's-1' });
  bench.end(W1, ran, { ...COMPLETED, kind: 'cancelled' });
  expect(detail(bench)).toMatchObject({
    attemptsTruncated: false,
    attemptList: [{ task: 0, state: 'cancelled', runMs: 5 }],
  });
});
