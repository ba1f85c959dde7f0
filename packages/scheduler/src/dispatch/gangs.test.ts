import {
  type Address,
  COMPLETED,
  type JobInput,
  KILL_OUTCOMES,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type MessageType,
  type Outcome,
  PRESETS,
  parseJobSpec,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import type { Job } from '../job/job.js';
import { CENTRAL, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';

const W3 = 13 as Address;
const CANCELLED: Outcome = { ...COMPLETED, ...KILL_OUTCOMES.cancelled };
const FAILED: Outcome = { ...COMPLETED, kind: 'failed', errorCode: 'exit', errorMessage: 'exited with 3' };

/** A scheduler under goshawk with a gang of three, and three workers that the test plays. */
class Bench {
  now = 0;
  readonly job: Job;
  readonly #sent: { readonly to: Address; readonly message: Message }[] = [];
  readonly #scheduler = loneScheduler(
    {},
    { send: (to, message) => this.#sent.push({ to, message }), setTimer() {}, clearTimer() {} },
  );
  #matches = 0;
  #reports = 0;

  constructor(spec: Partial<JobInput> = {}) {
    this.#scheduler.start(0);
    this.receive(CENTRAL, welcome({ policy: 'goshawk', preset: { ...PRESETS.goshawk } }));
    this.receive(CENTRAL, joined(1, [W1, W2, W3]));
    const tasks = { count: 3, run: { sleep: 1 } };
    this.job = this.#scheduler.submit(parseJobSpec({ gang: true, tasks, ...spec }), undefined, 0);
  }

  receive(from: Address, message: Message): void {
    this.#scheduler.receive(from, message, this.now);
    this.#scheduler.checkInvariants();
  }

  /** Messages of one type since the last call. */
  take<T extends MessageType>(type: T): (MessageOf<T> & { readonly to: Address })[] {
    const taken = this.#sent.filter(({ message }) => message.type === type);
    for (const each of taken) this.#sent.splice(this.#sent.indexOf(each), 1);
    return taken.map(({ to, message }) => ({ to, ...(message as MessageOf<T>) }));
  }

  match(...workers: Address[]): void {
    const match = ++this.#matches;
    const matched = workers.map((worker) => ({ worker, match }));
    const more = { job: 1, stage: 0, noneWaiting: undefined, newcomers: undefined };
    this.receive(CENTRAL, { type: 'matched', workers: matched, ...more });
  }

  ready(worker: Address, task: number, attempt = 1): void {
    this.receive(worker, { type: 'gangReady', job: 1, task, attempt, host: `h${worker}`, port: 9 });
  }

  started(): this {
    this.match(W1, W2, W3);
    [W1, W2, W3].forEach((worker, task) => {
      this.ready(worker, task, this.job.tasks.attemptOf(task));
    });
    return this;
  }

  end(worker: Address, task: number, outcome: Outcome = COMPLETED): void {
    const attempt = this.job.tasks.attemptOf(task);
    const run = { report: ++this.#reports, job: 1, task, attempt, runMs: 1, ask: 0 };
    this.receive(worker, { type: 'ended', ...run, outcome, output: [], outputBytes: 0 });
  }

  decline(worker: Address, task: number): void {
    const placed = { task, attempt: this.job.tasks.attemptOf(task) };
    this.receive(worker, { type: 'declined', job: 1, stage: 0, probes: 0, placed });
  }

  cancel(): void {
    this.#scheduler.cancel(this.job, this.now);
  }

  sweep(): void {
    this.now += LIVE_TIMINGS.retryMs;
    this.#scheduler.wake('sweep', 0, this.now);
  }

  get states(): string {
    return [...this.job.tasks.states].join('');
  }
}

test('a gang that was put on hold starts at no worker that central matched before it knew', () => {
  const bench = new Bench();
  const change = { request: 1, id: bench.job.id, priority: undefined } as const;
  bench.receive(9 as Address, { type: 'updateJob', ...change, held: true });
  bench.match(W1, W2, W3);
  expect(bench.take('run')).toEqual([]);
  expect(bench.take('unused').map(({ worker }) => worker)).toEqual([W1, W2, W3]);
  bench.receive(9 as Address, { type: 'updateJob', ...change, request: 2, held: false });
  bench.match(W1, W2, W3);
  expect(bench.take('run')).toHaveLength(3);
});

test.each(['waiting', 'running', 'ending'])(
  'a gang of which a member has failed does not start again after a restart: others %s',
  (others) => {
    const before = new DurableBench();
    before.members(W1, W2, W3);
    before.receive(CENTRAL, welcome({ policy: 'goshawk', preset: { ...PRESETS.goshawk } }));
    before.submit({ gang: true, tasks: { count: 3, run: { sleep: 1 } } });
    before.commit();
    const workers = [W1, W2, W3].map((worker) => ({ worker, match: 1 }));
    const matched = { job: 1, stage: 0, noneWaiting: undefined, newcomers: undefined };
    before.receive(CENTRAL, { type: 'matched', workers, ...matched });
    const runs = before.take().filter((message) => message.type === 'run');
    before.end(W1, runs[0]!, FAILED);

    const bench = new DurableBench(before.inheritance());
    bench.members(W1, W2, W3);
    const held = (task: number) => ({ job: 1, task, attempt: 1, elapsedMs: 1, match: 1 });
    [W3, W2, W1].forEach((worker, index) => {
      const task = 2 - index;
      const tasks = others !== 'waiting' && task > 0 ? [held(task)] : [];
      bench.receive(worker, { type: 'holding', tasks, audit: 0 });
      // The lost scheduler had already cancelled the other members, and some end before all workers have answered.
      if (others === 'ending' && task === 1) bench.end(W3, runs[2]!, CANCELLED);
    });
    if (others === 'ending') bench.end(W2, runs[1]!, CANCELLED);
    bench.commit();
    const sent = bench.take();
    if (others === 'running') {
      expect(sent.filter(({ type }) => type === 'cancelTask')).toHaveLength(2);
      for (const [task, worker] of [W1, W2, W3].entries()) if (task > 0) bench.end(worker, runs[task]!);
    }
    bench.commit();
    bench.receive(9 as Address, { type: 'readResults', request: 1, id: 's-1', from: 0, order: 'index' });
    const results = bench.take().find((message) => message.type === 'resultPage')!;
    const why = 'rank 0 of its gang had ended when its scheduler restarted';
    expect(results.value.tasks).toMatchObject([
      { state: 'failed', message: 'exited with 3' },
      { state: 'failed', message: why },
      { state: 'failed', message: why },
    ]);
    expect(bench.scheduler.activeJobs).toBe(0);
  },
);

/** Ends of a member, and what the other members report: they were killed, or had just completed. */
const MEMBER_ENDS: readonly Outcome[] = [
  FAILED,
  { ...FAILED, kind: 'timeout' },
  { ...COMPLETED, ...KILL_OUTCOMES.preempted },
  { ...COMPLETED, ...KILL_OUTCOMES.drained },
  { ...COMPLETED, ...KILL_OUTCOMES.shutdown },
  { ...COMPLETED, kind: 'lost', errorCode: 'worker-lost' },
];
const ACCOUNTS = MEMBER_ENDS.flatMap((outcome) =>
  [0, 1, 2].flatMap((member) => [0, 2].map((retries) => ({ outcome, member, retries }))),
);

test.each(ACCOUNTS)(
  'the counts of a job, its tasks and the usage agree if member $member ends as $outcome.kind $outcome.errorCode, with $retries retries',
  ({ outcome, member, retries }) => {
    const bench = new Bench({ retries });
    const { job } = bench;
    for (let round = 0; round < 4 && !job.hasEnded; round++) {
      bench.match(W1, W2, W3);
      const at = [0, 1, 2].map((task) => job.tasks.workerOf(task));
      for (const [task, worker] of at.entries()) bench.ready(worker, task, job.tasks.attemptOf(task));
      bench.end(at[member]!, member, round < 3 ? outcome : COMPLETED);
      for (const [task, worker] of at.entries())
        if (task !== member)
          bench.end(worker, task, { ...COMPLETED, ...(round < 3 ? KILL_OUTCOMES.cancelled : {}) });
      bench.sweep();
    }
    bench.take('usageBooks');
    const all = { by: ['user'], since: undefined, until: undefined } as const;
    const of = { user: undefined, project: undefined, name: undefined };
    bench.receive(9 as Address, { type: 'readUsage', request: 9, ...all, ...of });
    const rows = bench.take('usageBooks')[0]!.value.flatMap((book) => book.rows);
    const sum = (kind: 'completed' | 'failed' | 'cancelled' | 'preempted' | 'lost'): number =>
      rows.reduce((total, row) => total + row[kind], 0);
    const { history } = job;
    expect(history.total).toBeGreaterThanOrEqual(3);
    expect({
      failed: sum('failed'),
      lost: sum('lost') + sum('preempted'),
      cancelled: sum('cancelled'),
    }).toEqual({
      failed: history.failedCount + history.endedByOwnerCount,
      lost: history.lostCount,
      cancelled: 0,
    });
    expect(sum('completed') + sum('failed') + sum('lost') + sum('preempted')).toBe(history.total);
  },
);

describe('a gang', () => {
  test('asks central for all its workers at once, and starts when all members have their slots', () => {
    const bench = new Bench();
    expect(bench.take('need')).toMatchObject([{ tasks: 3, gang: true }]);
    bench.match(W1, W2, W3);
    expect(bench.take('run').map(({ to, gang }) => [to, gang])).toEqual([
      [W1, { rank: 0, ranks: 3 }],
      [W2, { rank: 1, ranks: 3 }],
      [W3, { rank: 2, ranks: 3 }],
    ]);
    bench.ready(W1, 0);
    bench.ready(W3, 2);
    expect(bench.take('startGang')).toEqual([]);
    bench.ready(W2, 1);
    const where = { hosts: ['h11', 'h12', 'h13'], port: 9 };
    expect(bench.take('startGang')).toMatchObject([W1, W2, W3].map((to, task) => ({ to, task, ...where })));
    // The message that starts it was lost.
    bench.ready(W2, 1);
    expect(bench.take('startGang')).toMatchObject([{ to: W2, task: 1, ...where }]);
  });

  test('accepts matches only for all of its tasks', () => {
    const bench = new Bench();
    bench.match(W1, W2);
    expect([bench.take('run'), bench.take('unused').length]).toEqual([[], 2]);
    expect(bench.take('need').at(-1)).toMatchObject({ tasks: 3 });
  });

  test('restarts as a whole if a worker declines a member', () => {
    const bench = new Bench();
    bench.match(W1, W2, W3);
    bench.take('need');
    bench.ready(W1, 0);
    bench.decline(W2, 1);
    expect(bench.take('cancelTask').map(({ to }) => to)).toEqual([W1, W3]);
    bench.ready(W3, 2);
    expect(bench.take('startGang')).toEqual([]);
    bench.decline(W1, 0);
    expect(bench.take('need')).toEqual([]);
    bench.sweep();
    expect(bench.take('cancelTask').map(({ to }) => to)).toContain(W3);
    bench.decline(W3, 2);
    expect(bench.take('need')).toMatchObject([{ tasks: 3 }]);
    expect(bench.job.history.failedCount).toBe(0);
  });

  test('completes when all members have: until then no result counts', () => {
    const bench = new Bench().started();
    bench.end(W1, 0);
    bench.end(W3, 2);
    expect([bench.job.counts.completed, bench.take('confirm')]).toEqual([0, []]);
    bench.end(W2, 1);
    expect([bench.job.state, bench.take('confirm').length]).toEqual(['completed', 3]);
  });

  test('is cancelled as a whole, even if a member had completed', () => {
    const bench = new Bench().started();
    bench.end(W1, 0);
    bench.cancel();
    bench.end(W2, 1, { ...COMPLETED, kind: 'cancelled' });
    bench.end(W3, 2, { ...COMPLETED, kind: 'cancelled' });
    bench.end(W1, 0);
    expect([bench.job.state, bench.job.counts.cancelled]).toEqual(['cancelled', 3]);
  });

  test('fails as a whole, with the reason of the member that failed', () => {
    const bench = new Bench().started();
    bench.end(W1, 0);
    bench.end(W2, 1, FAILED);
    expect(bench.take('cancelTask').map(({ to }) => to)).toEqual([W1, W3]);
    bench.end(W3, 2, { ...COMPLETED, kind: 'cancelled' });
    expect([bench.job.state, bench.job.counts.failed]).toEqual(['failed', 3]);
    const reason = 'rank 1 of its gang failed on w12: exited with 3';
    for (const task of [0, 2])
      expect(bench.job.history.reports.errorOf(task, undefined)).toMatchObject({
        outcome: { errorMessage: reason },
      });
  });

  test('is retried as a whole, and each attempt counts once, whichever member fails', () => {
    const bench = new Bench({ retries: 2 }).started();
    for (const failing of [0, 1]) {
      bench.take('need');
      [W1, W2, W3].forEach((worker, task) => {
        bench.end(worker, task, task === failing ? FAILED : COMPLETED);
      });
      expect(bench.take('need')).toMatchObject([{ tasks: 3 }]);
      bench.started();
    }
    expect([0, 1, 2].map((task) => bench.job.tasks.attemptOf(task))).toEqual([3, 3, 3]);
    bench.end(W1, 2, FAILED);
    bench.end(W3, 2, FAILED);
    [W1, W2].forEach((worker, task) => {
      bench.end(worker, task);
    });
    expect([bench.job.state, bench.job.counts.failed]).toEqual(['failed', 3]);
  });

  test('restarts as a whole if a worker is lost, without using a retry', () => {
    const bench = new Bench().started();
    bench.take('need');
    const left = {
      type: 'members',
      version: 2,
      since: 1,
      changed: [],
      owners: [],
      ownersVersion: 0,
      silentMs: undefined,
    } as const;
    bench.receive(CENTRAL, { ...left, left: [W2] });
    expect(bench.take('cancelTask').map(({ to }) => to)).toEqual(expect.arrayContaining([W1, W3]));
    bench.end(W1, 0, { ...COMPLETED, kind: 'cancelled' });
    bench.end(W3, 2, { ...COMPLETED, kind: 'cancelled' });
    expect(bench.take('need')).toMatchObject([{ tasks: 3 }]);
    expect([bench.job.state, bench.job.history.failedCount]).toEqual(['running', 0]);
  });
});
