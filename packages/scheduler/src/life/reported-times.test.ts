import { COMPLETED, LIMITS, type Message, type UsageRow } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1 } from '../lone-scheduler.fixture.js';

const ABSURD = LIMITS.wireMsMax;
/** The largest time that is believed 1 s after the acceptance. */
const BELIEVED = 61_000;

/** A job whose only task has run for 1 s. */
function started(bench = new DurableBench()) {
  bench.members(W1);
  bench.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  bench.commit();
  const task = bench.ask(W1, 1)!;
  bench.commit();
  bench.now += 1_000;
  return { bench, task };
}

function ask<T extends Message['type']>(bench: DurableBench, question: object, type: T) {
  bench.commit();
  bench.take();
  bench.now += 20;
  bench.receive(CLIENT, { request: 9, ...question } as Message);
  return bench.take().find((message): message is Extract<Message, { type: T }> => message.type === type)!;
}

function usage(bench: DurableBench): UsageRow {
  const none = { since: undefined, until: undefined, user: undefined, project: undefined, name: undefined };
  const question = { type: 'readUsage', by: ['user'], ...none };
  return ask(bench, question, 'usageBooks').value[0]!.rows[0]!;
}

const detail = (bench: DurableBench) =>
  ask(bench, { type: 'describeJob', id: 's-1', spec: false }, 'jobDetail').value;

test('an attempt has run no longer than its job is known, whatever its worker reports', () => {
  const { bench, task } = started();
  const report = { report: 1, outcome: { ...COMPLETED, cpuMs: ABSURD }, runMs: ABSURD, pausedMs: ABSURD };
  bench.receive(W1, { ...task, type: 'ended', ...report, output: [], outputBytes: 0, ask: 0 } as Message);
  const [record] = bench.records.filter(({ kind }) => kind === 'attempt');
  const cpuMs = BELIEVED * LIMITS.slotsMax;
  expect(record).toMatchObject({ runMs: BELIEVED, outcome: { cpuMs } });
  expect(detail(bench)).toMatchObject({ state: 'completed', attemptList: [{ runMs: BELIEVED }] });
  expect(usage(bench)).toMatchObject({ runMs: 1_000, cpuMs: 1_000, cpuUsedMs: cpuMs });
});

test('nor has an attempt on a lost worker that reports it later', () => {
  const { bench, task } = started();
  bench.receive(CENTRAL, { ...joined(2, []), since: 1, left: [W1] } as never);
  bench.commit();
  bench.end(W1, task, { ...COMPLETED, cpuMs: ABSURD }, ABSURD);
  expect(usage(bench)).toMatchObject({ runMs: BELIEVED, cpuUsedMs: BELIEVED * LIMITS.slotsMax });
});

test('nor has a task that its worker reports to a restarted scheduler', () => {
  const before = started().bench;
  const bench = new DurableBench(before.inheritance(), before.now);
  bench.members(W1);
  const task = { job: 1, task: 0, attempt: 1, match: undefined, elapsedMs: ABSURD, pausedMs: ABSURD };
  bench.receive(W1, { type: 'holding', audit: 0, tasks: [task] });
  expect(detail(bench)).toMatchObject({ startedMs: 1_000 - BELIEVED });
});

test('nor has a running task been paused for longer', () => {
  const { bench, task } = started();
  bench.receive(W1, { ...task, type: 'lent', to: undefined, pausedMs: ABSURD } as Message);
  const { value } = ask(bench, { type: 'explainJob', id: 's-1', task: 0 }, 'jobExplanation');
  expect(value.task).toMatchObject({ pausedMs: BELIEVED });
});

test('a heartbeat carries the wall clock, which writes the times that users see', () => {
  const { bench } = started();
  const { submittedAt } = detail(bench);
  bench.pass(500);
  const [heartbeat] = bench.take().filter(({ type }) => type === 'heartbeat');
  expect(heartbeat).toMatchObject({ clock: submittedAt + bench.now });
});
