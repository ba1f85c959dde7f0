import { type Address, COMPLETED, type MessageOf, type Outcome } from '@goshawk/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, W2, welcome } from '../lone-scheduler.fixture.js';

const HOUR = 3_600_000;
const CONTEXT = { common: { module: '/m.js' }, taken: 0, id: 's-1' };

let bench: DurableBench;
let request: number;

beforeEach(() => {
  request = 1;
  bench = benched(new DurableBench());
  open();
});

function benched(of: DurableBench): DurableBench {
  of.members(W1, W2);
  of.commit();
  of.take();
  return of;
}

function open(more: object = {}, key = 'k'): void {
  bench.submit({ open: '1h', ...more }, key, ++request);
  bench.commit();
  bench.take();
}

test('an open job keeps a scheduler from draining only until its last task ends', () => {
  let isDrained = false;
  const env = {
    drained() {
      isDrained = true;
    },
  };
  bench = benched(new DurableBench(undefined, 0, true, {}, env));
  open();
  append(0, [1]);
  bench.scheduler.drain();
  expect(isDrained).toBe(false);
  run();
  expect(isDrained).toBe(true);
});

/** @returns the answer, or the refusal */
function append(first: number, inputs: readonly unknown[], more: Partial<MessageOf<'appendTasks'>> = {}) {
  const each = inputs.map((input) => ({ input }));
  const digest = `${first + inputs.length}`;
  request++;
  const message = { ...CONTEXT, request, first, each, digest, close: false, ...more };
  bench.receive(CLIENT, { type: 'appendTasks', ...message });
  bench.commit();
  const answer = bench.take().find((each) => each.type === 'appended' || each.type === 'refused')!;
  return answer.type === 'appended' ? answer.value : (answer as MessageOf<'refused'>).code;
}

function run(outcome: Outcome = COMPLETED): MessageOf<'run'> {
  const task = bench.ask(W1, 1)!;
  bench.end(W1, task, outcome);
  bench.commit();
  bench.take();
  return task;
}

function detail(id = 's-1') {
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id, spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

function restart(): void {
  bench.commit();
  bench = benched(new DurableBench(bench.inheritance([3 as Address]), 1_000));
  for (const from of [W1, W2]) bench.receive(from, { type: 'holding', audit: 0, tasks: [] });
  bench.commit();
  bench.take();
}

/** Appends tasks that are not durable when a worker asks. */
function appendUnwritten(first: number, input: string): void {
  const message = {
    ...CONTEXT,
    request: ++request,
    first,
    each: [{ input }],
    digest: `${first + 1}`,
    close: false,
  };
  bench.receive(CLIENT, { type: 'appendTasks', ...message });
}

const value = (of: unknown): Outcome => ({ ...COMPLETED, value: of });

describe('an open job', () => {
  test('assigns no task before it is durable, because the next task with its index would inherit its attempts', () => {
    append(0, ['a']);
    appendUnwritten(1, 'b');
    appendUnwritten(2, 'c');
    expect(run()).toMatchObject({ task: 0 });
    expect([run(), run()]).toMatchObject([
      { task: 1, payload: { input: 'b' } },
      { task: 2, payload: { input: 'c' } },
    ]);
    appendUnwritten(3, 'd');
    expect(bench.ask(W1, 1)).toBeUndefined();
    bench.commit();
    expect(bench.ask(W1, 1)).toMatchObject({ task: 3 });
  });

  test('cancels appended tasks that are not durable yet', () => {
    append(0, ['a']);
    appendUnwritten(1, 'b');
    bench.receive(CLIENT, { type: 'cancelJob', request: 99, id: 's-1' });
    bench.commit();
    expect(detail()).toMatchObject({ state: 'cancelled', tasks: { total: 2, cancelled: 2 } });
    expect(bench.ask(W1, 1)).toBeUndefined();
  });

  test('runs appended tasks, and ends when it is closed and all tasks have ended', () => {
    expect(detail()).toMatchObject({ state: 'waiting', open: true, tasks: { total: 0 } });
    expect(append(0, ['a', 'b'])).toEqual({ tasks: 2, digest: '2', closed: false, state: 'waiting' });
    expect(run()).toMatchObject({ task: 0, payload: { module: '/m.js', input: 'a' } });
    expect(append(2, ['c'], { close: true })).toMatchObject({ tasks: 3, closed: true });
    expect([run(), run()]).toMatchObject([
      { task: 1, payload: { input: 'b' } },
      { task: 2, payload: { input: 'c' } },
    ]);
    const ended = detail();
    expect(ended).toMatchObject({ state: 'completed', tasks: { total: 3, completed: 3 } });
    restart();
    expect(detail()).toMatchObject({ state: 'completed', tasks: ended.tasks });
  });

  test('stays open after all its tasks have ended, until it is closed', () => {
    append(0, ['a']);
    run();
    expect(detail().state).toBe('running');
    append(1, ['b']);
    run();
    append(2, [], { close: true });
    expect(detail().state).toBe('completed');
  });

  test('ends at once if it is closed without tasks', () => {
    expect(append(0, [], { close: true })).toMatchObject({ state: 'completed', tasks: 0 });
  });

  test('refuses tasks because it is closed, or because others differ, once that is durable', () => {
    const answers = () => bench.take().filter((message) => 'request' in message);
    append(0, ['a']);
    appendUnwritten(1, 'b');
    appendUnwritten(3, 'd');
    expect(answers()).toEqual([]);
    bench.commit();
    expect(answers()).toMatchObject([{ type: 'appended' }, { type: 'refused', code: 'append-conflict' }]);
    bench.receive(CLIENT, { type: 'cancelJob', request: 78, id: 's-1' });
    appendUnwritten(2, 'c');
    expect(answers()).toEqual([]);
    bench.commit();
    expect(answers()).toMatchObject([{ type: 'jobSummary' }, { type: 'refused', code: 'not-open' }]);
  });

  test('ignores repeated tasks, and refuses different ones at their index', () => {
    append(0, ['a', 'b']);
    expect(append(0, ['a', 'b'])).toMatchObject({ tasks: 2 });
    expect(append(0, ['a'])).toMatchObject({ tasks: 2 });
    expect(append(0, ['x', 'y'], { digest: 'other' })).toBe('append-conflict');
    expect(append(1, ['b', 'c'])).toBe('append-conflict');
    expect(append(3, ['d'])).toBe('append-conflict');
    expect(append(2, ['c'], { close: true })).toMatchObject({ tasks: 3, closed: true });
    expect(append(2, ['c'], { close: true })).toMatchObject({ tasks: 3, closed: true });
    expect(append(3, ['d'])).toBe('not-open');
    expect(bench.records.filter(({ kind }) => kind === 'appended')).toHaveLength(2);
  });

  test('refuses an invalid task together with all tasks of its request', () => {
    const records = bench.records.length;
    expect(append(0, ['a'], { common: { modul: 'x' } })).toBe('bad-job');
    expect(append(0, [], { each: { not: 'a list' } })).toBe('bad-job');
    expect(append(0, [], { each: [{ sleep: 1 }, { sleep: -1 }], common: undefined })).toBe('bad-job');
    expect(append(0, [], { each: [{ sleep: 1 }], common: 7 })).toBe('bad-job');
    expect(bench.records.length).toBe(records);
    expect(detail().tasks.total).toBe(0);
  });

  test('refuses tasks whose common fields, repeated in each, take more memory than a request may', () => {
    const count = 10_000;
    const empty = Array.from({ length: count }, () => ({}));
    const list = Array.from({ length: 1_000 }, (_, index) => `${index}`);
    const env = Object.fromEntries(list.map((name) => [`V${name}`, 'x']));
    for (const common of [
      { exec: ['true'], env },
      { exec: ['true', ...list] },
      { exec: ['true'], params: env },
      { exec: ['cat'], stdin: 'x'.repeat(100_000) },
      { module: '/m.js', input: { deep: [list] } },
    ]) {
      expect(append(0, [], { common, each: empty })).toBe('bad-job');
      expect(append(0, [], { common, each: empty.slice(0, 10), digest: 'd' })).toMatchObject({ tasks: 10 });
      bench = benched(new DurableBench());
      open();
    }
  });

  test('accepts images only if it requires a container engine, since others could not run them', () => {
    const tasks = {
      common: undefined,
      each: [{ sleep: 1 }, { exec: ['true'], image: 'alpine' }],
      digest: '2',
    };
    expect(append(0, [], tasks)).toBe('bad-job');
    open({ require: { container: 'docker' } }, 'other');
    const job = { ...tasks, id: 's-2' };
    expect(append(0, [], job)).toMatchObject({ tasks: 2 });
  });

  test('survives a restart with its tasks, their results, and its position', () => {
    append(0, ['a', 'b', 'c']);
    run(value('A'));
    run(FAILED);
    restart();
    expect(append(0, [])).toMatchObject({ tasks: 3, digest: '3', closed: false, state: 'running' });
    append(3, ['d']);
    expect([run(), run()].map(({ payload }) => payload)).toMatchObject([{ input: 'c' }, { input: 'd' }]);
    append(4, [], { close: true });
    expect(detail()).toMatchObject({ state: 'failed', tasks: { total: 4, completed: 3, failed: 1 } });
    bench.receive(CLIENT, { type: 'readResults', request: 5, id: 's-1', from: 0, order: 'index' });
    const page = bench.take().find((message) => message.type === 'resultPage')!.value;
    expect(page.tasks!.map(({ state, value }) => value ?? state)).toEqual([
      'A',
      'failed',
      'completed',
      'completed',
    ]);
  });

  test('is cancelled like any other, whatever has completed', () => {
    append(0, ['a']);
    run();
    bench.receive(CLIENT, { type: 'cancelJob', request: 8, id: 's-1' });
    bench.commit();
    expect(detail().state).toBe('cancelled');
    expect(append(1, ['b'])).toBe('not-open');
    restart();
    expect(detail().state).toBe('cancelled');
  });

  test('is retried with the inputs of failed tasks, closed, even after a restart', () => {
    append(0, ['a', 'b', 'c'], { close: true });
    for (const outcome of [COMPLETED, FAILED, COMPLETED]) run(outcome);
    expect(detail().state).toBe('failed');
    restart();
    const choice = { failedOnly: true, tasks: undefined, asNew: undefined };
    bench.receive(CLIENT, { type: 'retryJob', request: 60, key: 'again', id: 's-1', ...choice });
    bench.commit();
    bench.take();
    expect(run()).toMatchObject({ task: 1, payload: { input: 'b' } });
    expect(detail()).toMatchObject({ state: 'completed', tasks: { total: 3, completed: 3 } });
    expect(append(3, ['d'])).toBe('not-open');
  });

  test('fails as a whole when its time limit passes', () => {
    open({ timeLimit: '1s' }, 'limited');
    const id = 's-2';
    append(0, ['a', 'b'], { id });
    bench.ask(W1, 2);
    bench.now = 2_000;
    bench.scheduler.wake('timeLimit', 2, bench.now);
    bench.commit();
    expect(detail(id)).toMatchObject({ state: 'failed', tasks: { failed: 2 } });
  });

  test('is closed after its time without a client, and not before', () => {
    append(0, ['a']);
    run();
    bench.now = HOUR - 1;
    bench.receive(CLIENT, { type: 'watchJob', request: 9, id: 's-1', detail: false, soon: undefined });
    bench.now = HOUR + 1;
    bench.scheduler.wake('open', 1, bench.now);
    expect(detail().state).toBe('running');
    expect(bench.timers.get('open 1')).toBe(2 * HOUR - 1);
    bench.now = 2 * HOUR;
    bench.scheduler.wake('open', 1, bench.now);
    bench.commit();
    expect(detail().state).toBe('completed');
    restart();
    expect(detail().state).toBe('completed');
  });

  test('has no stages, and only an open job is appended to', () => {
    bench.submit({ open: 1, stages: [{ name: 'a', tasks: [{ sleep: 1 }] }] }, 'staged', 50);
    expect(bench.take()).toMatchObject([{ type: 'refused', code: 'bad-job' }]);
    bench.submit({ tasks: [{ sleep: 1 }] }, 'plain', 51);
    bench.commit();
    expect(append(1, ['x'], { id: 's-2' })).toBe('not-open');
  });

  test('has no pilots, and counts as one job for a learned cutoff', () => {
    bench.receive(CENTRAL, welcome({ estimator: 'pilot' }));
    open({}, 'sampled');
    append(0, Array(100).fill('x'), { id: 's-2' });
    expect(detail('s-2')).toMatchObject({ sampling: undefined, class: 'short' });
  });

  test('keeps no inputs of completed tasks, and no values that its client has', () => {
    bench = benched(new DurableBench());
    const job = bench.accept({ open: '1h' });
    const before = bench.scheduler.activeBytes;
    const big = 'x'.repeat(1_000);
    for (let first = 0; first < 2_000; first += 100) {
      append(first, Array(100).fill(big), { id: job.id, taken: first });
      for (let n = 0; n < 100; n++) bench.end(W1, bench.ask(W1, job.number)!, value(big));
      bench.commit();
      bench.take();
    }
    append(2_000, [], { id: job.id, taken: 2_000 });
    expect(bench.scheduler.activeBytes - before).toBeLessThan(2_000 * 200);
    expect(detail(job.id).stages[0]!.command).toBe('module /m.js');
  });
});
