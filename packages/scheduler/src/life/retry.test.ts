import {
  type Address,
  COMPLETED,
  InputError,
  type JobInput,
  type JobRecord,
  type MessageOf,
  PRESETS,
  type RetryChoice,
} from '@goshawk/core';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, W2, welcome } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const ALL = { failedOnly: undefined, tasks: undefined, asNew: undefined } as const;
const TEN: JobInput = { tasks: Array.from({ length: 10 }, (_, task) => ({ sleep: task + 1 })) };
const STAGED: JobInput = {
  stages: [
    { name: 'extract', tasks: { count: 3, run: { sleep: 1 } } },
    { name: 'train', after: ['extract'], tasks: { count: 2, run: { sleep: 2 } } },
    { name: 'report', after: ['train'], tasks: [{ sleep: 3 }] },
  ],
};

let bench: DurableBench;
let requests: number;

function benched(of: DurableBench): DurableBench {
  of.members(W1, W2);
  of.commit();
  of.take();
  return of;
}

beforeEach(() => {
  bench = benched(new DurableBench());
  requests = 0;
});

function submit(job: JobInput, key = 'k'): void {
  bench.submit(job, key, ++requests);
  bench.commit();
  bench.take();
}

function detail(id = 's-1') {
  bench.commit();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id, spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

function cancel(id = 's-1'): void {
  bench.receive(CLIENT, { type: 'cancelJob', request: 78, id });
  bench.commit();
}

function retry(
  choice: Partial<RetryChoice> & { readonly asNew?: boolean } = {},
  key = `retry ${++requests}`,
  id = 's-1',
): MessageOf<'accepted'>['value'] | MessageOf<'refused'> {
  const { failedOnly, tasks, asNew } = choice;
  bench.take();
  bench.receive(CLIENT, { type: 'retryJob', request: 90, key, id, failedOnly, tasks, asNew });
  bench.commit();
  const answer = bench.take().find(({ type }) => type === 'accepted' || type === 'refused');
  return answer?.type === 'accepted' ? answer.value : (answer as MessageOf<'refused'>);
}

/** Runs all waiting tasks. @returns the tasks that ran, in order */
function runAll(isFailing: (run: MessageOf<'run'>) => boolean = () => false, job = 1): MessageOf<'run'>[] {
  const runs: MessageOf<'run'>[] = [];
  for (let idle = 0, turn = 0; idle < 6; ) {
    const stage = (turn >> 1) % 3;
    const at = turn++ % 2 === 0 ? W1 : W2;
    const run = bench.ask(at, job, stage);
    bench.commit();
    idle = run === undefined ? idle + 1 : 0;
    if (run === undefined) continue;
    runs.push(run);
    bench.end(at, run, isFailing(run) ? FAILED : undefined);
    bench.commit();
  }
  return runs;
}

function tasksOf(runs: readonly MessageOf<'run'>[]): number[] {
  return runs.map(({ task }) => task).sort((one, other) => one - other);
}

/** Another scheduler takes over the journal of this one, which is lost. */
function takeOver(): void {
  bench.commit();
  const config = { epoch: 2, adopted: true, endedJobsKeepMs: 1e9 };
  bench = benched(new DurableBench({ ...bench.inheritance([FORMER]), chunkSize: 1e9 }, 1_000, true, config));
  for (const from of [W1, W2]) bench.receive(from, { type: 'holding', audit: 0, tasks: [] });
  bench.commit();
}

function restart(): void {
  bench.commit();
  bench = benched(new DurableBench({ ...bench.inheritance([FORMER]), chunkSize: 1e9 }, 1_000));
  for (const from of [W1, W2]) bench.receive(from, { type: 'holding', audit: 0, tasks: [] });
  bench.commit();
}

/** Joins a cluster whose central places tasks. */
function joinPlacing(): void {
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.central } }));
  bench.commit();
}

/** Returns the tasks that central should place, since the last call. */
function placing(): MessageOf<'place'>['tasks'] {
  return bench.take().flatMap((message) => (message.type === 'place' ? message.tasks : []));
}

describe('a retry', () => {
  test('uses no attempt that central may have placed before the job was cancelled', () => {
    joinPlacing();
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.commit();
    expect(placing()).toEqual([{ task: 0, attempt: 1 }]);
    cancel();
    bench.receive(CENTRAL, { type: 'placed', job: 1, at: [{ task: 0, attempt: 1, worker: W1 }] });
    bench.receive(CLIENT, { type: 'retryJob', request: 90, key: 'r', id: 's-1', ...ALL });
    bench.commit();
    expect(placing()).toEqual([{ task: 0, attempt: 2 }]);
    bench.receive(CENTRAL, { type: 'placed', job: 1, at: [{ task: 0, attempt: 2, worker: W1 }] });
    // The worker drops the attempt that was cancelled.
    const declined = {
      type: 'declined',
      job: 1,
      stage: 0,
      probes: 0,
      placed: { task: 0, attempt: 1 },
    } as const;
    bench.receive(W1, declined);
    bench.commit();
    expect(placing()).toEqual([]);
  });

  test('of placed tasks uses no attempt again after a restart', () => {
    joinPlacing();
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.commit();
    const placed = { task: 0, attempt: 1 };
    bench.receive(CENTRAL, { type: 'placed', job: 1, at: [{ ...placed, worker: W1 }] });
    bench.receive(W1, { type: 'ask', ask: 1, again: false, job: 1, stage: 0, placed });
    bench.end(W1, { job: 1, ...placed }, FAILED);
    bench.commit();
    bench.take();
    bench.receive(CLIENT, { type: 'retryJob', request: 90, key: 'r', id: 's-1', ...ALL });
    bench.commit();
    const [again] = placing();
    // This attempt may run when the scheduler restarts.
    restart();
    joinPlacing();
    expect(placing()).toEqual([{ task: 0, attempt: again!.attempt + 1 }]);
  });

  test.each(['at once', 'after a restart'])('has the whole time to its deadline, %s', (when) => {
    submit({ ...TEN, deadline: 1_000 });
    runAll(({ task }) => task === 3);
    bench.now += 5_000;
    retry();
    if (when === 'after a restart') restart();
    runAll();
    const { state, deadlineMs, endedMs } = detail();
    expect({ state, deadlineMs }).toEqual({ state: 'completed', deadlineMs: 6_000 });
    expect(endedMs).toBeLessThanOrEqual(6_000);
  });

  test('with the key of another retry of the job is refused, also after a restart', () => {
    submit(TEN);
    runAll(({ task }) => task === 3 || task === 7);
    const tasks = [{ first: 3, last: 3 }];
    expect(retry({ tasks }, 'again')).toMatchObject({ job: 's-1', again: 1 });
    for (const again of [false, true]) {
      if (again) restart();
      expect(retry({ tasks }, 'again')).toMatchObject({ job: 's-1', state: 'running' });
      expect(retry({ tasks: [{ first: 7, last: 7 }] }, 'again')).toMatchObject({ code: 'key-conflict' });
      expect(retry({ tasks, asNew: true }, 'again')).toMatchObject({
        code: 'key-conflict',
        message: 'the key again already belongs to another retry of s-1',
      });
    }
  });

  test('runs the failed task, with its payload, as its second attempt', () => {
    submit(TEN);
    runAll(({ task }) => task === 7);
    expect(detail()).toMatchObject({ state: 'failed', tasks: { completed: 9, failed: 1 } });
    expect(retry()).toMatchObject({ job: 's-1', state: 'running', again: 1 });
    const [run, ...others] = runAll();
    expect(run).toMatchObject({ task: 7, attempt: 2, jobId: 's-1', payload: { sleep: 8 } });
    expect(others).toEqual([]);
    expect(detail()).toMatchObject({
      id: 's-1',
      state: 'completed',
      tasks: { total: 10, completed: 10, failed: 0 },
    });
  });

  test('also runs cancelled tasks, unless only failed ones are selected', () => {
    submit(TEN);
    bench.end(W1, bench.ask(W1, 1)!, FAILED);
    bench.end(W1, bench.ask(W1, 1)!);
    cancel();
    expect(detail()).toMatchObject({ state: 'cancelled', tasks: { completed: 1, failed: 1, cancelled: 8 } });
    expect(retry({ failedOnly: true })).toMatchObject({ again: 1 });
    expect(tasksOf(runAll())).toEqual([0]);
    expect(detail()).toMatchObject({ state: 'cancelled', tasks: { completed: 2, cancelled: 8 } });
    expect(retry()).toMatchObject({ again: 8 });
    expect(tasksOf(runAll())).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(detail().state).toBe('completed');
  });

  test('runs the selected tasks, except completed ones', () => {
    submit(TEN);
    runAll(({ task }) => task % 2 === 1);
    const tasks = [
      { first: 3, last: 3 },
      { first: 6, last: 7 },
    ];
    expect(retry({ tasks })).toMatchObject({ again: 2, completed: 1 });
    expect(tasksOf(runAll())).toEqual([3, 7]);
    expect(detail()).toMatchObject({ state: 'failed', tasks: { completed: 7, failed: 3 } });
    expect(retry({ tasks: [{ first: 0, last: 0 }] })).toMatchObject({ code: 'nothing-failed' });
    expect(retry({ tasks: [{ first: 10, last: 10 }] })).toMatchObject({ code: 'unknown-task' });
  });

  test('is refused because no task failed once the ends of the tasks are durable', () => {
    submit({ tasks: [{ sleep: 1 }] });
    bench.end(W1, bench.ask(W1, 1)!);
    const message = { request: 90, key: 'again', id: 's-1', failedOnly: undefined, asNew: undefined };
    bench.receive(CLIENT, { type: 'retryJob', ...message, tasks: undefined });
    const answers = () => bench.take().filter((message) => 'request' in message);
    expect(answers()).toEqual([]);
    bench.commit();
    expect(answers()).toMatchObject([{ type: 'refused', code: 'nothing-failed' }]);
  });

  test('continues with the stages after the failed one', () => {
    submit(STAGED);
    runAll(({ task }) => task === 1);
    expect(detail()).toMatchObject({ tasks: { completed: 2, failed: 1, cancelled: 3 } });
    expect(retry({ failedOnly: true })).toMatchObject({ again: 4 });
    expect(runAll().map(({ task }) => task)).toEqual([1, 3, 4, 5]);
    expect(detail()).toMatchObject({ state: 'completed', tasks: { completed: 6 } });
  });

  test('ends the stages after it again when it fails again, and may be made again', () => {
    submit(STAGED);
    runAll(({ task }) => task === 0 || task === 1);
    retry({ tasks: [{ first: 0, last: 0 }] });
    expect(runAll().map(({ task }) => task)).toEqual([0]);
    expect(detail()).toMatchObject({ state: 'failed', tasks: { completed: 2, failed: 1, cancelled: 3 } });
    retry();
    expect(runAll().map(({ task }) => task)).toEqual([1, 3, 4, 5]);
    expect(detail().state).toBe('completed');
  });

  test('is refused for a task whose stage follows an uncompleted one', () => {
    submit(STAGED);
    runAll(({ task }) => task === 1);
    expect(retry({ tasks: [{ first: 4, last: 4 }] })).toMatchObject({
      code: 'stage-not-completed',
      message: 'task 4 of s-1 runs after stage extract, which has not completed',
    });
  });

  test('that is repeated is the same retry, even after a restart', () => {
    submit(TEN);
    runAll(({ task }) => task === 7);
    expect(retry({}, 'again')).toMatchObject({ again: 1 });
    expect(retry({}, 'again')).toMatchObject({ job: 's-1', state: 'running' });
    runAll(() => true);
    expect(retry({}, 'again')).toMatchObject({ job: 's-1', state: 'failed' });
    restart();
    expect(retry({}, 'again')).toMatchObject({ job: 's-1', state: 'failed' });
    expect(retry({}, 'another')).toMatchObject({ again: 1 });
    expect(tasksOf(runAll())).toEqual([7]);
  });

  test('is refused for an active job', () => {
    submit(TEN);
    expect(retry()).toMatchObject({ code: 'not-ended' });
  });

  test('has a new budget of retries, and continues the attempt numbers', () => {
    submit({ tasks: [{ sleep: 1 }], retries: 1 });
    expect(runAll(() => true)).toHaveLength(2);
    retry();
    expect(runAll(() => true).map(({ attempt }) => attempt)).toEqual([3, 4]);
    expect(detail().failures).toMatchObject([{ task: 0, attempts: 4 }]);
  });

  test('has a new time limit', () => {
    submit({ tasks: [{ sleep: 1 }], timeLimit: 1_000 });
    bench.ask(W1, 1);
    bench.now += 1_000;
    bench.scheduler.wake('timeLimit', 1, bench.now);
    expect(detail().state).toBe('failed');
    retry();
    bench.now += 5_000;
    bench.ask(W1, 1);
    expect(bench.timers.get('timeLimit 1')).toBe(bench.now + 1_000);
    bench.scheduler.wake('timeLimit', 1, bench.now + 999);
    expect(detail().state).toBe('running');
  });

  test('accepts a match that arrived before it was durable, even if a later one was answered meanwhile', () => {
    submit(TEN);
    runAll(({ task }) => task === 7);
    submit({ tasks: [{ sleep: 1 }] }, 'other');
    const choice = { failedOnly: undefined, tasks: undefined, asNew: undefined };
    bench.receive(CLIENT, { type: 'retryJob', request: 91, key: 'r', id: 's-1', ...choice });
    for (const job of [1, 2]) {
      const matched = { job, stage: 0, workers: [{ worker: W1, match: job }] };
      bench.receive(CENTRAL, { type: 'matched', ...matched, noneWaiting: undefined, newcomers: undefined });
    }
    bench.commit();
    const runs = bench.take().filter((message) => message.type === 'run');
    expect(runs.map(({ job, task }) => [job, task]).sort()).toEqual([
      [1, 7],
      [2, 0],
    ]);
  });

  test('starts nothing before it is durable', () => {
    submit(TEN);
    runAll(({ task }) => task === 7);
    bench.receive(CLIENT, {
      ...{ type: 'retryJob', request: 91, key: 'r', id: 's-1' },
      ...{ failedOnly: undefined, tasks: undefined, asNew: undefined },
    });
    expect(bench.ask(W1, 1)).toBeUndefined();
    expect(bench.take().some(({ type }) => type === 'accepted')).toBe(false);
    bench.commit();
    expect(bench.take().map(({ type }) => type)).toEqual(expect.arrayContaining(['run', 'accepted']));
  });

  test('survives a restart, regardless of which tasks had run', () => {
    submit(STAGED);
    runAll(({ task }) => task === 1);
    retry();
    restart();
    expect(detail()).toMatchObject({ state: 'running', tasks: { completed: 2, waiting: 4 } });
    bench.end(W1, bench.ask(W1, 1)!);
    restart();
    expect(runAll().map(({ task }) => task)).toEqual([3, 4, 5]);
    restart();
    expect(detail()).toMatchObject({ state: 'completed', tasks: { total: 6, completed: 6 } });
  });

  test('never reuses the number of an attempt that started before a cancel and a crash', () => {
    submit({ tasks: [{ sleep: 1 }] });
    const first = bench.ask(W1, 1)!;
    cancel();
    restart();
    retry();
    const second = bench.ask(W2, 1)!;
    expect(second.attempt).toBeGreaterThan(first.attempt);
    cancel();
    restart();
    restart();
    retry();
    expect(bench.ask(W1, 1)!.attempt).toBeGreaterThan(second.attempt);
  });

  test('also works for a job that is only in the journal', () => {
    bench = benched(new DurableBench(undefined, 0, true, { memoryBytes: 200_000 }));
    submit(TEN);
    runAll(({ task }) => task === 7);
    for (let more = 0; more < 20; more++) {
      submit({ tasks: [{ sleep: 1 }] }, `more ${more}`);
      runAll(() => false, more + 2);
    }
    expect(retry()).toMatchObject({ again: 1 });
    expect(tasksOf(runAll())).toEqual([7]);
    expect(detail().state).toBe('completed');
    bench.receive(CLIENT, {
      ...{
        type: 'listJobs',
        request: 80,
        states: [],
        user: undefined,
        where: undefined,
        endedMax: 100,
        jobsMax: 100,
      },
    } as MessageOf<'listJobs'>);
    const listed = bench.take().find((message) => message.type === 'jobList')!;
    expect(listed.value.jobs.map(({ id }) => id).sort()).toEqual(
      [...new Set(listed.value.jobs.map(({ id }) => id))].sort(),
    );
    expect(listed.value.total).toBe(21);
  });

  test('records overlapping ranges once', () => {
    submit(TEN);
    cancel();
    const before = bench.records.length;
    const overlapping = Array.from({ length: 100 }, (_, at) => ({ first: 0, last: at % 10 }));
    expect(retry({ tasks: overlapping })).toMatchObject({ again: 10 });
    expect(bench.records[before]).toMatchObject({
      kind: 'retried',
      choice: { tasks: [{ first: 0, last: 9 }] },
    });
  });

  test('is refused while there is no memory for the job, which stays unchanged', () => {
    bench = benched(new DurableBench(undefined, 0, true, { memoryBytes: 40_000 }));
    const large: JobInput = { tasks: { count: 150, run: { sleep: 1 } } };
    submit(large);
    cancel();
    submit(large, 'another');
    expect(retry()).toMatchObject({ type: 'refused', code: 'overloaded' });
    expect(detail()).toMatchObject({ state: 'cancelled' });
    cancel('s-2');
    expect(retry()).toMatchObject({ again: 150 });
  });

  test('records only its selection: a cancelled job of 100,000 tasks with 8 kB of payload each', () => {
    submit({ tasks: { count: 100_000, run: { exec: ['true'], env: { BIG: 'x'.repeat(8_000) } } } });
    cancel();
    const before = bench.records.length;
    expect(retry()).toMatchObject({ again: 100_000 });
    expect(JSON.stringify(bench.records.slice(before)).length).toBeLessThan(1_000);
    restart();
    expect(detail()).toMatchObject({ state: 'waiting', tasks: { waiting: 100_000 } });
  });

  test('counts one success per task, and runs nothing after it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('run', 'fail', 'cancel', 'retry', 'failed', 'some', 'restart'), {
          maxLength: 60,
        }),
        fc.boolean(),
        fc.integer({ min: 0, max: 1_000 }),
        (steps, isStaged, seed) => {
          bench = benched(new DurableBench());
          submit(isStaged ? STAGED : TEN);
          const count = isStaged ? 6 : 10;
          const successes = new Map<number, number>();
          const attempts = new Set<string>();
          let random = seed;
          const draw = (below: number) => {
            random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
            return random % below;
          };
          for (const step of steps) {
            if (step === 'cancel') cancel();
            else if (step === 'retry') retry();
            else if (step === 'failed') retry({ failedOnly: true });
            else if (step === 'some') {
              const first = draw(count);
              retry({ tasks: [{ first, last: Math.min(count - 1, first + draw(3)) }] });
            } else if (step === 'restart') restart();
            else {
              const run = bench.ask(W1, 1, draw(isStaged ? 3 : 1));
              if (run === undefined) continue;
              expect(successes.has(run.task)).toBe(false);
              expect(attempts.has(`${run.task}/${run.attempt}`)).toBe(false);
              attempts.add(`${run.task}/${run.attempt}`);
              bench.end(W1, run, step === 'fail' ? FAILED : undefined);
              if (step === 'run') successes.set(run.task, run.attempt);
            }
            bench.commit();
          }
          expect(detail().tasks.completed).toBe(successes.size);
        },
      ),
      { numRuns: 300 },
    );
  });
});

test('a job that the journal cannot encode is refused, leaves no trace, and the next one is accepted', () => {
  const records: JobRecord[] = [];
  const record = (each: JobRecord) => {
    if (records.length === 0 && each.job === 1)
      throw new InputError('record-too-large', 'too large', 'submit smaller jobs');
    return records.push(each) - 1;
  };
  bench = benched(new DurableBench(undefined, 0, true, {}, { record }));
  bench.submit(TEN, 'a', 1);
  expect(bench.take()).toMatchObject([{ type: 'refused', code: 'record-too-large' }]);
  expect(bench.scheduler.activeJobs).toBe(0);
  bench.submit(TEN, 'b', 2);
  bench.scheduler.recorded(records.length, bench.now);
  expect(bench.take().find(({ type }) => type === 'accepted')).toMatchObject({ value: { job: 's-2' } });
});

describe('attempt numbers', () => {
  test('count executions, not declined tasks, and skip those that may have started before a restart', () => {
    submit({ tasks: [{ sleep: 1 }] });
    const declined = bench.ask(W1, 1)!;
    expect(declined).toMatchObject({ attempt: 1, execution: undefined });
    bench.receive(W1, {
      ...{ type: 'declined', job: 1, stage: 0, probes: 0 },
      placed: { task: 0, attempt: 1 },
    } as MessageOf<'declined'>);
    bench.commit();
    expect(bench.ask(W2, 1)).toMatchObject({ attempt: 2, execution: 1 });
    restart();
    const run = bench.ask(W1, 1)!;
    expect(run.attempt).toBeGreaterThan(2);
    // The attempt at W2 may have run as execution 1.
    expect(run.execution).toBeUndefined();
    bench.end(W1, run, FAILED);
    expect(detail()).toMatchObject({ attempts: { total: 1 }, failures: [{ attempts: run.attempt }] });
    retry();
    expect(bench.ask(W1, 1)).toMatchObject({ attempt: run.attempt + 1, execution: undefined });
  });
});

describe.each([
  { name: 'a restart', lose: restart },
  { name: 'a takeover', lose: takeOver },
])('after $name', ({ lose }) => {
  const ARRAY: JobInput = {
    stages: [
      { name: 'square', tasks: [4, 5, 6, 7].map((input) => ({ module: '/square.js', input })) },
      {
        name: 'sum',
        after: ['square'],
        inputs: ['square'],
        tasks: [8, 9].map((n) => ({ exec: ['sum', `${n}`], stdout: 'out/{index}.json' })),
      },
    ],
  };

  test('a retry of a staged array runs the failed tasks with their numbers, values and inputs', () => {
    submit(ARRAY);
    for (let left = 4; left > 0; left--) {
      const run = bench.ask(W1, 1)!;
      bench.end(W1, run, run.task === 2 ? FAILED : { ...COMPLETED, value: `square ${run.task}` });
      bench.commit();
    }
    expect(detail()).toMatchObject({ state: 'failed', tasks: { completed: 3, failed: 1, cancelled: 2 } });
    lose();
    expect(retry()).toMatchObject({ job: 's-1', again: 3 });
    const again = bench.ask(W1, 1)!;
    expect(again).toMatchObject({ task: 2, attempt: 2, payload: { module: '/square.js', input: 6 } });
    expect(bench.ask(W2, 1)).toBeUndefined();
    bench.end(W1, again, { ...COMPLETED, value: 'square 2' });
    bench.commit();
    lose();
    const runs = runAll();
    expect(runs).toMatchObject([
      { task: 4, payload: { exec: ['sum', '8'], stdout: 'out/{index}.json' } },
      { task: 5, payload: { exec: ['sum', '9'], stdout: 'out/{index}.json' } },
    ]);
    const lines = runs[0]!.inputs!.lines.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      [0, 1, 2, 3].map((index) => ({ stage: 'square', index, value: `square ${index}` })),
    );
    expect(detail()).toMatchObject({ id: 's-1', state: 'completed', tasks: { total: 6, completed: 6 } });
  });

  test('results of a job with a failed task have a value or an error by index', () => {
    submit({ tasks: [1, 2, 3].map((input) => ({ module: '/m.js', input })) });
    for (const value of ['one', undefined, 'three']) {
      bench.end(W1, bench.ask(W1, 1)!, value === undefined ? FAILED : { ...COMPLETED, value });
      bench.commit();
    }
    lose();
    bench.take();
    bench.receive(CLIENT, { type: 'readResults', request: 5, id: 's-1', from: 0, order: 'index' });
    bench.commit();
    expect(bench.take().find(({ type }) => type === 'resultPage')).toMatchObject({
      value: {
        tasks: [
          { task: 0, state: 'completed', value: 'one' },
          { task: 1, state: 'failed', message: 'exit 1' },
          { task: 2, state: 'completed', value: 'three' },
        ],
      },
    });
  });
});

describe('a retry as a new job', () => {
  const SAME: JobInput = { tasks: { count: 10, run: { exec: ['x'], env: { BIG: 'x'.repeat(8_000) } } } };

  test('runs the failed tasks under their numbers, and leaves the old job as it is', () => {
    submit(TEN);
    runAll(({ task }) => task === 3 || task === 7);
    const before = detail();
    expect(retry({ asNew: true }, 'again')).toMatchObject({ job: 's-2', state: 'waiting', again: 2 });
    expect(detail('s-2')).toMatchObject({ retryOf: 's-1', tasks: { total: 2, waiting: 2 } });
    const runs = runAll(undefined, 2);
    expect(runs).toMatchObject([
      { task: 3, attempt: 1, jobId: 's-2', payload: { sleep: 4 } },
      { task: 7, attempt: 1, jobId: 's-2', payload: { sleep: 8 } },
    ]);
    expect(detail('s-2')).toMatchObject({
      state: 'completed',
      retryOf: 's-1',
      tasks: { total: 2, completed: 2, cancelled: 0 },
    });
    expect(detail()).toEqual(before);
  });

  test('is made once per key', () => {
    submit(TEN);
    runAll(({ task }) => task === 3);
    expect(retry({ asNew: true }, 'again')).toMatchObject({ job: 's-2' });
    expect(retry({ asNew: true }, 'again')).toMatchObject({ job: 's-2' });
    restart();
    expect(retry({ asNew: true }, 'again')).toMatchObject({ job: 's-2' });
    expect(retry({ asNew: true }, 'k')).toMatchObject({ code: 'key-conflict' });
    expect(retry({}, 'again')).toMatchObject({ code: 'key-conflict' });
    expect(retry({ asNew: true }, 'another')).toMatchObject({
      job: expect.not.stringMatching(/^s-2$/),
      again: 1,
    });
  });

  test('continues with the stages after the failed one, across a restart', () => {
    submit(STAGED);
    runAll(({ task }) => task === 1);
    expect(retry({ asNew: true })).toMatchObject({ job: 's-2', again: 4 });
    restart();
    expect(detail('s-2')).toMatchObject({ retryOf: 's-1', tasks: { total: 4, waiting: 4 } });
    expect(runAll(undefined, 2).map(({ task }) => task)).toEqual([1, 3, 4, 5]);
    expect(detail('s-2')).toMatchObject({
      state: 'completed',
      stages: [{ tasks: 1 }, { tasks: 2 }, { tasks: 1 }],
    });
  });

  test('takes part of a later stage alone', () => {
    submit(STAGED);
    runAll(({ task }) => task === 4);
    expect(retry({ asNew: true, tasks: [{ first: 4, last: 4 }] })).toMatchObject({ again: 2 });
    expect(runAll(undefined, 2).map(({ task }) => task)).toEqual([4, 5]);
  });

  test('lists and returns only its selected tasks, and can be retried', () => {
    submit(TEN);
    runAll(({ task }) => task === 3 || task === 7);
    retry({ asNew: true });
    runAll(({ task }) => task === 7, 2);
    const asked = { request: 5, id: 's-2', from: 0 };
    bench.receive(CLIENT, { type: 'listTasks', ...asked, states: [], stage: undefined, limit: 10 });
    bench.receive(CLIENT, { type: 'readResults', ...asked, order: 'index' });
    bench.commit();
    const answers = bench.take();
    expect(answers.find((answer) => answer.type === 'taskPage')!.value).toMatchObject({
      total: 2,
      tasks: [
        { index: 3, state: 'completed' },
        { index: 7, state: 'failed' },
      ],
    });
    expect(answers.find((answer) => answer.type === 'resultPage')!.value).toMatchObject({
      tasks: [{ task: 3 }, { task: 7 }],
    });
    expect(retry({ tasks: [{ first: 5, last: 5 }] }, 'other', 's-2')).toMatchObject({
      code: 'nothing-failed',
    });
    expect(retry({ asNew: true }, 'more', 's-2')).toMatchObject({ job: 's-3', again: 1 });
    expect(runAll(undefined, 3)).toMatchObject([{ task: 7, payload: { sleep: 8 } }]);
    expect(detail('s-3')).toMatchObject({ state: 'completed', retryOf: 's-2' });
  });

  test('shows and cancels no tasks outside its selection', () => {
    submit(TEN);
    runAll(({ task }) => task === 3 || task === 7);
    retry({ asNew: true });
    const ask = (message: Parameters<typeof bench.receive>[1]) => {
      bench.commit();
      bench.take();
      bench.receive(CLIENT, message);
      bench.commit();
      return bench.take().find((answer) => 'request' in answer);
    };
    const job = { request: 5, id: 's-2' };
    expect(ask({ type: 'explainJob', ...job, task: 5 })).toMatchObject({ code: 'unknown-task' });
    expect(ask({ type: 'explainJob', ...job, task: 7 })).toMatchObject({ type: 'jobExplanation' });
    const cancelled = (first: number, last: number) =>
      ask({ type: 'cancelTasks', ...job, tasks: [{ first, last }], stage: undefined });
    expect(cancelled(4, 6)).toMatchObject({ code: 'unknown-task', message: 's-2 has no task 4' });
    expect(cancelled(4, 9)).toMatchObject({ value: { cancelled: 1, killing: 0, ended: 0 } });
  });

  test('does not copy the payload for each task', () => {
    submit({ ...SAME, tasks: { ...(SAME.tasks as object), count: 100_000 } } as JobInput);
    cancel();
    expect(retry({ asNew: true })).toMatchObject({ again: 100_000 });
    const record = bench.records.findLast(({ kind }) => kind === 'accepted') as JobRecord & {
      kind: 'accepted';
    };
    expect(JSON.stringify(record).length).toBeLessThan(9_000);
  });

  test('is refused if it needs return values of the old job', () => {
    const taking = { ...STAGED.stages![1]!, inputs: ['extract'] };
    submit({ stages: [STAGED.stages![0]!, taking] });
    runAll(({ task }) => task === 4);
    expect(retry({ asNew: true })).toMatchObject({ code: 'missing-inputs' });
    expect(retry()).toMatchObject({ job: 's-1', again: 1 });
  });
});
