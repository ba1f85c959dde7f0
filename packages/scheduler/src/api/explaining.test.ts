import {
  type Address,
  COMPLETED,
  type JobExplanation,
  type JobInput,
  type Message,
  type MessageOf,
  type Millis,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  type WaitingGroup,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';
import type { Scheduler } from '../scheduler.js';

/** A scheduler with two workers, and a client that asks why jobs wait. */
class Bench {
  readonly scheduler: Scheduler;
  #asks = 0;
  readonly #sent: { to: Address; message: Message }[] = [];

  constructor(policy: Partial<PolicySettings> = {}, workers: readonly Address[] = [W1, W2]) {
    this.scheduler = loneScheduler({}, { send: (to, message) => this.#sent.push({ to, message }) });
    this.scheduler.start(0);
    this.receive(CENTRAL, welcome(policy), 0);
    if (workers.length > 0) this.receive(CENTRAL, joined(1, workers), 0);
  }

  receive(from: Address, message: Message, now: Millis): void {
    this.scheduler.receive(from, message, now);
  }

  submit(job: JobInput, now: Millis): string {
    return this.scheduler.submit(parseJobSpec(job), undefined, now).id;
  }

  /** The worker asks for a task of the job, and is given one. */
  bind(worker: Address, job: number, now: Millis): MessageOf<'run'> {
    this.receive(
      worker,
      { type: 'ask', ask: ++this.#asks, again: false, job, stage: 0, placed: undefined },
      now,
    );
    return this.#take('run');
  }

  end(worker: Address, { task, attempt }: MessageOf<'run'>, job: number, runMs: Millis, now: Millis): void {
    const report = { report: ++this.#asks, outcome: COMPLETED, runMs, output: [], outputBytes: 0, ask: 0 };
    this.receive(worker, { type: 'ended', job, task, attempt, ...report }, now);
  }

  why(id: string, now: Millis, task?: number): JobExplanation {
    this.receive(CLIENT, { type: 'explainJob', request: 1, id, task }, now);
    return this.#take('jobExplanation').value;
  }

  groups(now: Millis): readonly WaitingGroup[] {
    this.receive(CLIENT, { type: 'explainWaiting', request: 1 }, now);
    return this.#take('waitingGroups').value;
  }

  #take<T extends Message['type']>(type: T): MessageOf<T> {
    const found = this.#sent.findLast(({ message }) => message.type === type);
    this.#sent.length = 0;
    expect(found, type).toBeDefined();
    return found!.message as MessageOf<T>;
  }
}

describe('why a job waits', () => {
  test('is that its probes are queued, with the workers that hold them', () => {
    const bench = new Bench();
    const id = bench.submit({ tasks: [{ sleep: 5 }, { sleep: 5 }] }, 100);
    const why = bench.why(id, 150);
    expect(why.waiting).toEqual([{ stage: 'tasks', index: 0, reason: 'probing', tasks: 2, waitedMs: 50 }]);
    expect(why.probesOut).toBe(4);
    expect(why.probes).toEqual([
      { worker: `w${W1}`, probes: 2 },
      { worker: `w${W2}`, probes: 2 },
    ]);
    expect(why.waits).toBeUndefined();
    bench.receive(W1, { type: 'moved', job: 1, stage: 0, to: W2, probes: 1 }, 160);
    expect(bench.why(id, 170)).toMatchObject({
      probesMoved: 1,
      probes: [
        { worker: `w${W2}`, probes: 3 },
        { worker: `w${W1}`, probes: 1 },
      ],
    });
  });

  test('is its limit on running tasks', () => {
    const bench = new Bench();
    const id = bench.submit({ tasks: { count: 3, run: { sleep: 5 } }, maxRunning: 1 } as JobInput, 0);
    bench.bind(W1, 1, 20);
    const why = bench.why(id, 30, 2);
    expect(why.waiting).toEqual([{ stage: 'tasks', index: 0, reason: 'job-limit', tasks: 2, waitedMs: 30 }]);
    expect(why.task).toMatchObject({ task: 2, state: 'waiting', reason: 'job-limit', waitedMs: 30 });
  });

  // An estimate would change nothing: such tasks start with the pilots if there is room.
  test.each([
    ['goshawk', 'matching'],
    ['hawk', 'probing'],
    ['goshawk-peer', 'probing'],
  ] as const)('is never that pilots measure its run time, under %s', (preset, reason) => {
    const bench = new Bench({
      preset: PRESETS[preset],
      estimator: 'pilot',
      pilotRatio: 0.2,
      cutoffMs: 1_000,
    });
    const id = bench.submit({ tasks: { count: 10, run: { sleep: 5 } } }, 0);
    const { waiting, sampling } = bench.why(id, 30);
    expect(sampling?.pilotTasks).toBe(2);
    expect(waiting.map((wait) => wait.reason)).toEqual([reason, reason]);
  });

  test('is that a stage follows another one, whose tasks wait for something else', () => {
    const bench = new Bench();
    const stages = [
      { name: 'one', tasks: [{ sleep: 5 }] },
      { name: 'two', after: ['one'], tasks: [{ sleep: 5 }, { sleep: 5 }] },
    ];
    const id = bench.submit({ stages }, 0);
    expect(bench.why(id, 40).waiting).toEqual([
      { stage: 'two', index: 1, reason: 'stage', tasks: 2, waitedMs: 0 },
      { stage: 'one', index: 0, reason: 'probing', tasks: 1, waitedMs: 40 },
    ]);
    // Counted from its release, not from the job's submission.
    bench.end(W1, bench.bind(W1, 1, 50), 1, 5, 60);
    expect(bench.why(id, 100, 1)).toMatchObject({
      waiting: [{ stage: 'two', reason: 'probing', tasks: 2, waitedMs: 40 }],
      task: { stage: 'two', waitedMs: 40 },
    });
  });

  test('is that central was asked for a worker, of the stage that may start', () => {
    const bench = new Bench({ preset: { ...PRESETS.hawk }, cutoffMs: 1_000 });
    const long = { tasks: [{ sleep: 5_000 }] };
    const stages = [
      { name: 'one', ...long },
      { name: 'two', after: ['one'], ...long },
    ];
    const id = bench.submit({ stages, estimate: 5_000 }, 0);
    expect(bench.why(id, 10).waiting).toContainEqual({
      stage: 'one',
      index: 0,
      reason: 'placing',
      tasks: 1,
      waitedMs: 10,
    });
    const attempt = { task: 0, attempt: 1 };
    bench.receive(CENTRAL, { type: 'placed', job: 1, at: [{ ...attempt, worker: W1 }] }, 20);
    bench.receive(W1, { type: 'ask', ask: 1, again: false, job: 1, stage: 0, placed: attempt }, 30);
    bench.end(W1, { type: 'run', job: 1, ...attempt } as MessageOf<'run'>, 1, 500, 540);
    expect(bench.why(id, 550).waiting).toEqual([
      { stage: 'two', index: 1, reason: 'placing', tasks: 1, waitedMs: 10 },
    ]);
  });

  test('is that no worker meets the requirement of a task that central places', () => {
    const bench = new Bench({ preset: { ...PRESETS.hawk }, cutoffMs: 1_000 });
    const id = bench.submit({ tasks: [{ sleep: 5_000 }], estimate: 5_000, require: { zone: 'eu' } }, 0);
    expect(bench.why(id, 10, 0)).toMatchObject({
      waiting: [{ reason: 'required', tasks: 1, requires: [{ name: 'zone', value: 'eu' }] }],
      task: { reason: 'required' },
    });
  });

  test.each([
    ['the 9 tasks of the gang start together, and the cluster has room for', 'all' as const, {}],
    ['no worker has gpu 4; the closest is', 'asked' as const, { demand: { gpu: 4 } }],
    [
      'no worker has its preferred attributes: zone=eu',
      'all' as const,
      { tasks: [{ sleep: 5 }], prefer: { zone: 'eu' } },
    ],
  ])(
    'is that all workers together have no room, where it was accepted before any was known: %s',
    (missing, gangs, job) => {
      const bench = new Bench({ preset: { ...PRESETS.goshawk, gangs } }, []);
      const id = bench.submit({ tasks: { count: 9, run: { sleep: 5 } }, ...job }, 0);
      expect(bench.why(id, 10).waiting).toMatchObject([{ reason: 'no-worker' }]);
      bench.receive(CENTRAL, joined(1, [W1, W2]), 20);
      expect(bench.why(id, 30)).toMatchObject({
        waiting: [{ reason: 'required', missing: expect.stringContaining(missing) }],
      });
      expect(bench.groups(30)).toMatchObject([{ reason: 'required' }]);
    },
  );

  test('is that central has no worker for it, or is away', () => {
    const bench = new Bench({ preset: { ...PRESETS.goshawk } });
    const id = bench.submit({ tasks: [{ sleep: 5 }], estimate: 5 }, 0);
    expect(bench.why(id, 10).waiting).toMatchObject([{ reason: 'matching', tasks: 1 }]);
    const long = bench.submit({ tasks: [{ sleep: 5 }], estimate: 1e9 }, 0);
    expect(bench.why(long, 10).waiting).toMatchObject([{ reason: 'matching', tasks: 1 }]);
    for (const now of [1_000, 2_000]) bench.scheduler.wake('heartbeat', 0, now);
    expect(bench.why(long, 2_000).waiting).toMatchObject([{ reason: 'central-away', tasks: 1 }]);
  });
});

test('the time of a job splits into waits of tasks and the last task to end', () => {
  const bench = new Bench();
  const id = bench.submit({ tasks: [{ sleep: 5 }, { sleep: 5 }] }, 0);
  const first = bench.bind(W1, 1, 10);
  const second = bench.bind(W2, 1, 30);
  bench.end(W1, first, 1, 200, 215);
  bench.end(W2, second, 1, 50, 85);
  const why = bench.why(id, 300);
  expect(why.job.state).toBe('completed');
  expect(why.waiting).toEqual([]);
  expect(why.waits).toMatchObject({ tasks: 2 });
  expect(why.last).toMatchObject({ task: first.task, worker: `w${W1}`, ranMs: 200 });
  // The owner can only compute its start from the report and its run time.
  expect(why.last!.waitedMs + 200).toBe(why.last!.endedMs);
});

test('waiting times are the same after a restart of the owner', () => {
  const before = new DurableBench();
  before.members(W1);
  before.submit({
    stages: [
      { name: 'a', tasks: [{ sleep: 1 }] },
      { name: 'b', tasks: [{ sleep: 1 }], after: ['a'] },
    ],
  });
  for (const stage of [0, 1]) {
    before.now += 600;
    const run = before.ask(W1, 1, stage)!;
    before.now += 5;
    before.end(W1, run);
  }
  before.commit();
  const bench = new DurableBench(before.inheritance(), 10_000);
  bench.take();
  for (const task of [0, 1]) {
    bench.receive(CLIENT, { type: 'explainJob', request: 1, id: 's-1', task });
    const [explained] = bench.take() as [MessageOf<'jobExplanation'>];
    expect(explained.value).toMatchObject({
      waits: { tasks: 2, p50: 600, max: 600 },
      task: { waitedMs: 600 },
    });
  }
});

test('a scheduler counts waiting tasks by class and reason, with the job that waits longest', () => {
  const bench = new Bench();
  const oldest = bench.submit({ tasks: [{ sleep: 5 }] }, 0);
  bench.submit({ tasks: { count: 4, run: { sleep: 5 } } }, 50);
  expect(bench.groups(80)).toEqual([
    { class: 'short', reason: 'probing', tasks: 5, example: oldest, exampleAgeMs: 80 },
  ]);
});

test('a task that a job does not have is refused', () => {
  const sent: Message[] = [];
  const scheduler = loneScheduler({}, { send: (_to, message) => sent.push(message) });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome(), 0);
  const { id } = scheduler.submit(parseJobSpec({ tasks: [{ sleep: 5 }] }), undefined, 0);
  scheduler.receive(CLIENT, { type: 'explainJob', request: 7, id, task: 1 }, 5);
  expect(sent.at(-1)).toMatchObject({ type: 'refused', request: 7, code: 'unknown-task' });
});

test('a task that lends its CPUs has not run while it was paused', () => {
  const bench = new Bench();
  const id = bench.submit({ tasks: [{ sleep: 5 }] }, 0);
  const { task, attempt } = bench.bind(W1, 1, 10);
  const to = { job: 'b2-7', task: 4 };
  bench.receive(W1, { type: 'lent', job: 1, task, attempt, to, pausedMs: 0 }, 110);
  expect(bench.why(id, 310, task).task).toMatchObject({ ranMs: 100, pausedMs: 200, lentTo: to });
  bench.receive(W1, { type: 'lent', job: 1, task, attempt, to: undefined, pausedMs: 300 }, 410);
  const { task: continued } = bench.why(id, 510, task);
  expect(continued).toMatchObject({ ranMs: 200, pausedMs: 300 });
  expect(continued!.lentTo).toBeUndefined();
});

test('a task says that it shares its CPUs with a child and with its parent; a restarted scheduler learns it', () => {
  const bench = new Bench();
  const id = bench.submit({ tasks: [{ sleep: 5 }] }, 0);
  const { task, attempt } = bench.bind(W1, 1, 10);
  const [to, from] = [{ job: 'b2-7', task: 4 }, [{ job: 'a1-3', task: 0 }]];
  const lent = { type: 'lent', job: 1, task, attempt, pausedMs: 0 } as const;
  const told = (at = 310) => bench.why(id, at, task).task!;
  bench.receive(W1, { ...lent, to: undefined, from, fromParent: true }, 110);
  bench.receive(W1, { ...lent, to, toChild: true }, 110);
  const shared = { lentTo: to, toChild: true, borrows: true, borrowedFrom: from, fromParent: true };
  expect(told()).toMatchObject({ ...shared, ranMs: 300 });
  expect(told().pausedMs).toBeUndefined();
  bench.receive(W1, { ...lent, to: undefined }, 210);
  expect([told().lentTo, told().toChild, told().borrows]).toEqual([undefined, undefined, true]);
  const held = { job: 1, task, attempt, elapsedMs: 300, pausedMs: 0, lentTo: to, borrowedFrom: from };
  const tasks = [{ ...held, toChild: true, fromParent: true }];
  bench.receive(W1, { type: 'holding', tasks, audit: 0 }, 310);
  expect(told(510)).toMatchObject({ ...shared, ranMs: 500 });
});

test('a task that borrows CPUs says from whom, until its lenders continue; a restarted scheduler learns it', () => {
  const bench = new Bench();
  const id = bench.submit({ tasks: [{ sleep: 5 }] }, 0);
  const { task, attempt } = bench.bind(W1, 1, 10);
  const from = [{ job: 'b2-7', task: 4 }];
  const lent = { type: 'lent', job: 1, task, attempt, to: undefined, pausedMs: 0 } as const;
  const told = () => bench.why(id, 310, task).task;
  bench.receive(W1, { ...lent, from }, 110);
  expect(told()).toMatchObject({ ranMs: 300, borrows: true, borrowedFrom: from });
  bench.receive(W1, { ...lent, from: [] }, 210);
  expect(told()).toMatchObject({ borrowedFrom: from });
  expect(told()!.borrows).toBeUndefined();
  const held = { job: 1, task, attempt, elapsedMs: 300, borrowedFrom: from };
  bench.receive(W1, { type: 'holding', tasks: [held], audit: 0 }, 310);
  expect(told()).toMatchObject({ ranMs: 300, borrows: true, borrowedFrom: from });
});
