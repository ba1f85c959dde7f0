import { type Address, type Message, PRESETS, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';

/** A scheduler whose gangs are matched by central, and fail if they have not started by their deadline. */
function setUp(abandons = true) {
  const timers = new Map<number, number>();
  const sent: { to: Address; message: Message }[] = [];
  const scheduler = loneScheduler(
    {},
    {
      send: (to, message) => sent.push({ to, message }),
      setTimer: (timer, key, at) => {
        if (timer === 'deadline') timers.set(key, at);
      },
      clearTimer: (timer, key) => {
        if (timer === 'deadline') timers.delete(key);
      },
    },
  );
  const preset = { ...PRESETS.goshawk, gangs: 'all' as const, declares: true, abandons };
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1, W2]), 0);
  const tasks = { count: 2, run: { sleep: 50 } };
  const job = scheduler.submit(parseJobSpec({ tasks, deadline: 100, retries: 3 }), undefined, 1);
  const start = (match: number, now: number) =>
    scheduler.receive(
      CENTRAL,
      {
        type: 'matched',
        noneWaiting: undefined,
        newcomers: undefined,
        job: job.number,
        stage: 0,
        workers: [W1, W2].map((worker) => ({ worker, match })),
      },
      now,
    );
  const end = (task: number, errorCode: string, now: number) => {
    const outcome = { kind: errorCode === '' ? 'completed' : 'lost', value: undefined, errorCode } as const;
    const more = { errorMessage: '', exitCode: undefined, signal: undefined };
    const at = { job: job.number, task, attempt: job.tasks.attemptOf(task), report: 10 * now + task };
    const worker = job.tasks.workerOf(task) as Address;
    const ended = { ...at, runMs: 5, output: [], outputBytes: 0, ask: 0, outcome: { ...outcome, ...more } };
    scheduler.receive(worker, { type: 'ended', ...ended }, now);
  };
  const take = () => sent.splice(0).map(({ message }) => message);
  take();
  return { scheduler, job, timers, start, end, take };
}

test('a job that has not started by its deadline fails with that reason, regardless of retries', () => {
  const { scheduler, job, timers, take } = setUp();
  expect(timers.get(job.number)).toBe(101);
  scheduler.wake('deadline', job.number, 101);
  expect(job.state).toBe('failed');
  expect(job.history.total).toBe(0);
  expect(job.history.reports.errorOf(1, undefined)?.outcome.errorCode).toBe('deadline-missed');
  expect(take()).toContainEqual({ type: 'withdraw', job: job.number });
  expect(timers.size).toBe(0);
});

test('tasks running at the deadline continue', () => {
  const { scheduler, job, start, end } = setUp();
  start(1, 90);
  scheduler.wake('deadline', job.number, 101);
  for (const task of [0, 1]) end(task, '', 140);
  expect(job.state).toBe('completed');
});

test('a gang preempted after its deadline is not restarted', () => {
  const { scheduler, job, start, end } = setUp();
  start(1, 90);
  scheduler.wake('deadline', job.number, 101);
  end(0, 'preempted', 110);
  expect(job.hasEnded).toBe(false);
  end(1, 'preempted', 111);
  expect(job.state).toBe('failed');
  expect(job.history.total).toBe(2);
});

test('the unfinished tasks of a partly completed gang are restarted', () => {
  const { job, start, end } = setUp();
  start(1, 90);
  end(0, '', 110);
  end(1, 'preempted', 111);
  expect(job.hasEnded).toBe(false);
});

test('other policies let it continue', () => {
  const { scheduler, job } = setUp(false);
  scheduler.wake('deadline', job.number, 101);
  expect(job.hasEnded).toBe(false);
});

test('tasks of a late job can be cancelled after a restart while central is away', () => {
  const before = new DurableBench();
  before.accept({ tasks: { count: 3, run: { sleep: 50 } }, deadline: 100 });
  before.commit();
  const after = new DurableBench(before.inheritance(), 10_000, false);
  after.take();
  after.receive(CLIENT, {
    type: 'cancelTasks',
    request: 9,
    id: 's-1',
    tasks: [{ first: 1, last: 1 }],
    stage: undefined,
  });
  after.commit();
  expect(after.take()).toContainEqual(expect.objectContaining({ type: 'tasksCancelled', request: 9 }));
});
