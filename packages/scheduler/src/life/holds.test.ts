import { type Address, type JobInput, type Message, type MessageOf, PRESETS, Random } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, entriesOf, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1, W2, welcome } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const WALL = 1_800_000_000_000;
const TASKS: JobInput = { tasks: { count: 4, run: { sleep: 1 } } };

function submitted(job: JobInput = TASKS, bench = new DurableBench()): DurableBench {
  bench.members(W1, W2);
  bench.submit(job);
  bench.commit();
  bench.take();
  return bench;
}

let request = 100;

function update(bench: DurableBench, change: { held?: boolean; priority?: 'low' | 'normal' | 'high' }) {
  bench.commit();
  bench.take();
  const { held, priority } = change;
  bench.receive(CLIENT, { type: 'updateJob', request: ++request, id: 's-1', held, priority });
  bench.commit();
  const sent = bench.take();
  return { sent, answer: sent.find((message) => 'request' in message) };
}

function detail(bench: DurableBench): MessageOf<'jobDetail'>['value'] {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

function reasons(bench: DurableBench) {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'explainJob', request: 78, id: 's-1', task: undefined });
  const { value } = bench.take().find((message) => message.type === 'jobExplanation')!;
  return value.waiting.map(({ reason, tasks }) => [reason, tasks]);
}

/** The next incarnation, after its workers have had time to report their tasks. */
function restarted(before: DurableBench, startedAt = 20_000): DurableBench {
  before.commit();
  const bench = new DurableBench(before.inheritance([FORMER]), startedAt);
  bench.commit();
  bench.members(W1, W2);
  for (const worker of [W1, W2]) bench.receive(worker, { type: 'holding', audit: 0, tasks: [] });
  bench.commit();
  return bench;
}

describe('a held job', () => {
  test('keeps a scheduler from draining only until its last running task ends', () => {
    let isDrained = false;
    const env = {
      drained() {
        isDrained = true;
      },
    };
    const bench = submitted(TASKS, new DurableBench(undefined, 0, true, {}, env));
    const [one, other] = [bench.ask(W1, 1)!, bench.ask(W2, 1)!];
    update(bench, { held: true });
    bench.scheduler.drain();
    bench.end(W1, one);
    expect(isDrained).toBe(false);
    bench.end(W2, other, FAILED);
    expect(isDrained).toBe(true);
  });

  test('does not keep an already draining scheduler from exiting', () => {
    let isDrained = false;
    const env = {
      drained() {
        isDrained = true;
      },
    };
    const bench = submitted(TASKS, new DurableBench(undefined, 0, true, {}, env));
    bench.scheduler.drain();
    expect(isDrained).toBe(false);
    update(bench, { held: true });
    expect(isDrained).toBe(true);
  });

  test('keeps no scheduler from draining while no worker can run it', () => {
    let isDrained = false;
    const env = {
      drained() {
        isDrained = true;
      },
    };
    const nowhere = { ...TASKS, require: { rack: 'r9' } };
    const bench = submitted(nowhere, new DurableBench(undefined, 0, true, {}, env));
    expect(reasons(bench)).toEqual([['required', 4]]);
    bench.scheduler.drain();
    bench.scheduler.wake('heartbeat', 0, bench.now);
    // A worker that can run it may be about to join.
    expect(isDrained).toBe(false);
    bench.now += 60_000;
    bench.receive(CENTRAL, joined(2, [W1, W2], 4));
    bench.scheduler.wake('heartbeat', 0, bench.now);
    expect(isDrained).toBe(true);
  });

  test('keeps no scheduler from draining once all workers have left', () => {
    let isDrained = false;
    const env = {
      drained() {
        isDrained = true;
      },
    };
    const bench = submitted(TASKS, new DurableBench(undefined, 0, true, {}, env));
    bench.scheduler.drain();
    bench.now += 60_000;
    bench.scheduler.wake('heartbeat', 0, bench.now);
    expect(isDrained).toBe(false);
    bench.receive(CENTRAL, { ...joined(2, []), since: 1, left: [W1, W2] } as never);
    bench.scheduler.wake('heartbeat', 0, bench.now);
    expect(isDrained).toBe(true);
  });

  test('starts nothing more, lets running tasks continue, and resumes on release', () => {
    const bench = submitted();
    const ran = bench.ask(W1, 1)!;
    const { sent, answer } = update(bench, { held: true });
    expect(answer).toMatchObject({ type: 'jobSummary', value: { state: 'running', held: true } });
    expect(sent.filter(({ type }) => type === 'cancelProbes').length).toBeGreaterThan(0);
    expect(bench.ask(W2, 1)).toBeUndefined();
    expect(reasons(bench)).toEqual([['held', 3]]);
    bench.end(W1, ran);
    expect(detail(bench)).toMatchObject({ held: true, tasks: { completed: 1, waiting: 3 } });
    const released = update(bench, { held: false });
    expect(released.answer).toMatchObject({ value: { state: 'running' } });
    expect(released.sent.some(({ type }) => type === 'probe')).toBe(true);
    for (let i = 0; i < 3; i++) bench.end(W2, bench.ask(W2, 1)!);
    expect(detail(bench)).toMatchObject({ state: 'completed', tasks: { completed: 4 } });
  });

  test('may be on hold from its submission on', () => {
    const bench = submitted({ ...TASKS, hold: true });
    expect(bench.ask(W1, 1)).toBeUndefined();
    expect(detail(bench)).toMatchObject({ state: 'waiting', held: true });
    expect(reasons(bench)).toEqual([['held', 4]]);
    update(bench, { held: false });
    expect(detail(bench).held).toBeUndefined();
    expect(bench.ask(W1, 1)).toBeDefined();
  });

  test('is still on hold after a restart, and still released after another one', () => {
    const before = submitted();
    before.end(W1, before.ask(W1, 1)!);
    update(before, { held: true, priority: 'high' });
    const bench = restarted(before);
    expect(detail(bench)).toMatchObject({ held: true, priority: 'high', tasks: { completed: 1 } });
    expect(bench.ask(W1, 1)).toBeUndefined();
    update(bench, { held: false });
    expect(bench.ask(W1, 1)).toBeDefined();
    // Its own records follow the inherited ones.
    const all = [...before.records, ...bench.records];
    bench.records.splice(0, Number.POSITIVE_INFINITY, ...all);
    const again = restarted(bench, 40_000);
    expect(detail(again)).toMatchObject({ priority: 'high' });
    expect(detail(again).held).toBeUndefined();
    expect(again.ask(W2, 1)).toBeDefined();
  });

  test('keeps the tasks that a worker reports as running after a restart', () => {
    const before = submitted();
    const { task, attempt } = before.ask(W1, 1)!;
    update(before, { held: true });
    before.commit();
    const bench = new DurableBench(before.inheritance([FORMER]), 20_000);
    bench.commit();
    bench.members(W1, W2);
    bench.receive(W1, {
      type: 'holding',
      audit: 0,
      tasks: [{ job: 1, task, attempt, elapsedMs: 500, match: undefined }],
    });
    bench.receive(W2, { type: 'holding', audit: 0, tasks: [] });
    expect(bench.take().filter(({ type }) => type === 'cancelTask')).toEqual([]);
    expect(detail(bench)).toMatchObject({ held: true, tasks: { running: 1, waiting: 3 } });
    bench.end(W1, { job: 1, task, attempt });
    expect(detail(bench)).toMatchObject({ tasks: { completed: 1, waiting: 3 } });
  });

  test('starts no later stage', () => {
    const tasks = { count: 1, run: { sleep: 1 } };
    const bench = submitted({
      stages: [
        { name: 'a', tasks },
        { name: 'b', after: ['a'], tasks },
      ],
    });
    const first = bench.ask(W1, 1)!;
    update(bench, { held: true });
    bench.end(W1, first);
    bench.commit();
    expect(bench.ask(W1, 1, 1)).toBeUndefined();
    expect(reasons(bench)).toEqual([['held', 1]]);
    update(bench, { held: false });
    bench.end(W1, bench.ask(W1, 1, 1)!);
    expect(detail(bench).state).toBe('completed');
  });

  test('can be cancelled, and is neither held nor released once it has ended', () => {
    const bench = submitted({ ...TASKS, hold: true });
    bench.receive(CLIENT, { type: 'cancelJob', request: 9, id: 's-1' });
    expect(detail(bench)).toMatchObject({ state: 'cancelled' });
    expect(detail(bench).held).toBeUndefined();
    expect(update(bench, { held: true }).answer).toMatchObject({
      type: 'refused',
      code: 'has-ended',
      message: 's-1 has ended (cancelled)',
    });
  });

  test('gives no attempt number again after a restart, although it has taken tasks from the queues of workers', () => {
    const bench = new DurableBench();
    bench.members(W1);
    bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.central } }));
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.commit();
    const place = () => {
      const placed = bench.take().filter((message) => message.type === 'place');
      const [{ task, attempt }] = placed.at(-1)!.tasks as [{ task: number; attempt: number }];
      bench.receive(CENTRAL, { type: 'placed', job: 1, at: [{ task, attempt, worker: W1 }] });
      return attempt;
    };
    const change = { type: 'updateJob', id: 's-1', priority: undefined } as const;
    expect(place()).toBe(1);
    bench.receive(CLIENT, { ...change, request: 90, held: true });
    bench.receive(CLIENT, { ...change, request: 91, held: false });
    expect(place()).toBe(2);
    bench.commit();
    const after = new DurableBench(bench.inheritance());
    after.receive(CENTRAL, welcome({ preset: { ...PRESETS.central } }));
    after.members(W1);
    after.receive(W1, { type: 'holding', audit: 0, tasks: [] });
    after.commit();
    const again = after.take().filter((message) => message.type === 'place');
    expect(again.at(-1)!.tasks).toMatchObject([{ task: 0, attempt: 3 }]);
  });

  test('has ended for its client only once that is durable, because a restart would put it on hold again', () => {
    const bench = submitted({ tasks: [{ sleep: 1 }], hold: true });
    const answers = (): Message[] => bench.take().filter((message) => 'request' in message);
    const release = (): Message[] => {
      const more = { id: 's-1', held: false, priority: undefined };
      bench.receive(CLIENT, { type: 'updateJob', request: ++request, ...more });
      return answers();
    };
    const durable = entriesOf(bench.records);
    release();
    bench.end(W1, bench.ask(W1, 1)!);
    expect(release()).toEqual([]);
    bench.scheduler.journalChanged({ kind: 'stopped', message: 'the disk is full' }, bench.now);
    expect(release()).toMatchObject([{ type: 'refused', code: 'journal-full' }]);
    const next = new DurableBench({ ...bench.inheritance(), entries: durable });
    expect(detail(next).held).toBe(true);
    bench.scheduler.journalChanged({ kind: 'open' }, bench.now);
    bench.commit();
    const ended = { type: 'refused', code: 'has-ended', message: 's-1 has ended (completed)' };
    expect(answers()).toMatchObject([{ type: 'jobSummary' }, ended]);
    expect(release()).toMatchObject([ended]);
  });

  test('still waits for other jobs, and its successors keep waiting', () => {
    const bench = submitted();
    bench.submit({ ...TASKS, after: ['s-1'], hold: true }, 'k2', 2);
    bench.commit();
    for (let i = 0; i < 4; i++) bench.end(W1, bench.ask(W1, 1)!);
    bench.commit();
    expect(bench.ask(W1, 2)).toBeUndefined();
    bench.receive(CLIENT, {
      type: 'updateJob',
      request: ++request,
      id: 's-2',
      held: false,
      priority: undefined,
    });
    bench.commit();
    expect(bench.ask(W1, 2)).toBeDefined();
  });

  test('follows its client’s latest request when an older one is repeated', () => {
    const bench = submitted();
    update(bench, { held: true });
    const old = request;
    update(bench, { held: false });
    bench.receive(CLIENT, { type: 'updateJob', request: old, id: 's-1', held: true, priority: undefined });
    expect(detail(bench).held).toBeUndefined();
    expect(bench.ask(W1, 1)).toBeDefined();
  });

  test.each([1, 2, 3, 4, 5, 6])(
    'follows each request once, in whatever order they and their copies arrive (seed %i)',
    (seed) => {
      const random = Random.seeded(`updates ${seed}`);
      const draw = (most: number): number => Math.floor(random.next() * most);
      const bench = submitted();
      const changes = Array.from({ length: 8 }, () =>
        draw(2) === 0
          ? { held: draw(2) === 0 }
          : { priority: (['low', 'normal', 'high'] as const)[draw(3)]! },
      );
      const order = changes
        .map((change, at) => ({ change, request: 1_000 + at, key: random.next() }))
        .sort((one, other) => one.key - other.key);
      const expected: { held?: true; priority: string } = { priority: 'normal' };
      for (const [at, { change, request }] of order.entries()) {
        for (const sent of [{ change, request }, order[draw(at + 1)]!]) {
          const { held, priority } = { held: undefined, priority: undefined, ...sent.change };
          bench.receive(CLIENT, { type: 'updateJob', request: sent.request, id: 's-1', held, priority });
        }
        if (change.priority !== undefined) expected.priority = change.priority;
        if (change.held === true) expected.held = true;
        if (change.held === false) delete expected.held;
        const { held, priority } = detail(bench);
        expect({ seed, at, held, priority }).toEqual({ seed, at, held: undefined, ...expected });
      }
    },
  );

  test('is journaled once for a repeated request', () => {
    const bench = submitted();
    update(bench, { held: true });
    update(bench, { held: true });
    expect(bench.records.filter(({ kind }) => kind === 'updated')).toEqual([
      { kind: 'updated', job: 1, at: WALL, held: true, beginAt: undefined, priority: 'normal' },
    ]);
  });

  test('does not count the time as waiting for a worker', () => {
    const bench = submitted();
    bench.now = 1_000;
    update(bench, { held: true });
    bench.now = 61_000;
    update(bench, { held: false });
    bench.now = 63_000;
    bench.end(W1, bench.ask(W1, 1)!);
    bench.commit();
    bench.take();
    bench.receive(CLIENT, { type: 'explainJob', request: 78, id: 's-1', task: undefined });
    const { value } = bench.take().find((message) => message.type === 'jobExplanation')!;
    expect(value.waitSums).toMatchObject([
      { phase: 'held', tasks: 1, meanMs: 61_000 },
      { phase: 'worker', tasks: 1, meanMs: 2_000 - 5 },
    ]);
    expect(value.waits).toMatchObject({ max: 2_000 - 5 });
  });
});

describe('central', () => {
  const MATCHING = { preset: { ...PRESETS.goshawk } };

  function matched(job: JobInput = {}): DurableBench {
    const bench = new DurableBench(undefined, 0, false);
    bench.receive(CENTRAL, welcome(MATCHING));
    return submitted({ ...TASKS, estimate: '1m', ...job }, bench);
  }

  test('drops the needs of a held job, and gets them again on release', () => {
    const bench = matched();
    expect(update(bench, { held: true }).sent).toContainEqual({ type: 'withdraw', job: 1 });
    const match = { worker: W1, match: 1 };
    bench.receive(CENTRAL, {
      type: 'matched',
      job: 1,
      stage: 0,
      workers: [match],
      noneWaiting: false,
      newcomers: undefined,
    });
    expect(bench.take()).toContainEqual({ type: 'unused', ...match });
    const needs = update(bench, { held: false }).sent.filter((message) => message.type === 'need');
    expect(needs).toMatchObject([{ job: 1, tasks: 4, about: { ageMs: 0 } }]);
  });

  test('gets no needs of a held job', () => {
    const bench = matched({ hold: true });
    expect(bench.take()).toEqual([]);
    bench.now = 2_000;
    bench.scheduler.wake('sweep', 0, bench.now);
    expect(bench.take().filter(({ type }) => type === 'need')).toEqual([]);
    expect(update(bench, { held: false }).sent.filter(({ type }) => type === 'need')).toMatchObject([
      { tasks: 4 },
    ]);
  });

  test('gets a changed priority immediately', () => {
    const bench = matched();
    const { sent, answer } = update(bench, { priority: 'high' });
    expect(answer).toMatchObject({ type: 'jobSummary' });
    expect(sent.filter((message) => message.type === 'need')).toMatchObject([
      { about: { priority: 'high' }, tasks: 4 },
    ]);
    expect(detail(bench)).toMatchObject({ priority: 'high' });
  });
});

describe('a job that begins later', () => {
  test('begins automatically at its time', () => {
    const bench = submitted({ ...TASKS, begin: '2h' });
    const beginAt = WALL + 7_200_000;
    expect(detail(bench)).toMatchObject({ state: 'waiting', held: false, beginAt });
    expect(reasons(bench)).toEqual([['begin', 4]]);
    bench.now = 7_199_999;
    bench.scheduler.wake('begin', 0, bench.now);
    expect(bench.ask(W1, 1)).toBeUndefined();
    expect(bench.timers.get('begin 0')).toBe(7_200_000);
    bench.now = 7_200_000;
    bench.scheduler.wake('begin', 0, bench.now);
    expect(detail(bench).beginAt).toBeUndefined();
    expect(bench.ask(W1, 1)).toBeDefined();
  });

  test('follows the wall clock, which is polled', () => {
    const bench = submitted({ ...TASKS, begin: new Date(WALL + 3_600_000).toISOString() });
    expect(bench.timers.get('begin 0')).toBe(30_000);
    bench.scheduler.wake('begin', 0, 30_000);
    expect(bench.timers.get('begin 0')).toBe(60_000);
  });

  test('begins immediately if its time has passed', () => {
    const bench = submitted({ ...TASKS, begin: new Date(WALL - 1).toISOString() });
    expect(bench.ask(W1, 1)).toBeDefined();
    expect(bench.timers.has('begin 0')).toBe(false);
  });

  test('is released before its time', () => {
    const bench = submitted({ ...TASKS, begin: '2h' });
    update(bench, { held: false });
    expect(bench.ask(W1, 1)).toBeDefined();
    const again = restarted(bench);
    expect(detail(again).beginAt).toBeUndefined();
  });

  test('does not begin before its release if it is held', () => {
    const bench = submitted({ ...TASKS, begin: '1s' });
    update(bench, { held: true });
    bench.now = 2_000;
    bench.scheduler.wake('begin', 0, bench.now);
    expect(bench.ask(W1, 1)).toBeUndefined();
    expect(reasons(bench)).toEqual([['held', 4]]);
    update(bench, { held: false });
    expect(bench.ask(W1, 1)).toBeDefined();
  });

  test('begins at the same time after a restart, or immediately if that has passed', () => {
    const before = submitted({ ...TASKS, begin: '1m' });
    const bench = restarted(before, 20_000);
    expect(detail(bench)).toMatchObject({ beginAt: WALL + 60_000 });
    expect(bench.ask(W1, 1)).toBeUndefined();
    bench.now = 40_000;
    bench.scheduler.wake('begin', 0, bench.now);
    expect(bench.ask(W1, 1)).toBeDefined();
    const late = restarted(before, 90_000);
    late.scheduler.wake('begin', 0, late.now);
    expect(late.ask(W1, 1)).toBeDefined();
  });
});
