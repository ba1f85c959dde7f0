import {
  COMPLETED,
  type JobInput,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  PRESETS,
  parseJobSpec,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Hold } from '../job/hold.js';
import { CENTRAL, CLIENT, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';

test('central gets the parent of a job, and a newer one if another attempt of it submits the job again', () => {
  const sent: Message[] = [];
  const send = (to: unknown, message: Message): void => {
    if (to === CENTRAL) sent.push(message);
  };
  const scheduler = loneScheduler({}, { send });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1], 100), 0);
  const parents = (spec: JobInput, match: number, key: string) => {
    const parent = { job: 'a-1', task: 3, worker: 'w1', match };
    sent.splice(0);
    scheduler.receive(CLIENT, { type: 'submit', request: match, key, spec: { ...spec, parent } }, 1);
    return sent.flatMap((message) => (message.type === 'need' ? [message.about?.parent?.match] : []));
  };
  const plain = { tasks: [{ sleep: 10 }], estimate: 10 };
  const planned = { ...plain, deadline: '1m' };
  for (const match of [7, 9]) {
    expect(parents(plain, match, 'plain')).toEqual([match]);
    expect(parents(planned, match, 'planned')).toEqual([match]);
  }
  expect(parents(plain, 9, 'plain')).toEqual([]);
});

test('central gets an update if far fewer tasks wait because workers sought them', () => {
  const needs: number[] = [];
  const send = (_: unknown, message: Message): void => {
    if (message.type === 'need') needs.push(message.tasks);
  };
  const scheduler = loneScheduler({}, { send });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1], 100), 0);
  const job = scheduler.submit(
    parseJobSpec({ tasks: { count: 100, run: { sleep: 10 } }, estimate: 10 }),
    undefined,
    1,
  );
  expect(needs).toEqual([100]);
  let ask = 0;
  const sweptAfter = (asks: number): number[] => {
    needs.splice(0);
    for (let i = 0; i < asks; i++) {
      ask++;
      const question = {
        type: 'ask',
        ask,
        job: job.number,
        stage: 0,
        again: false,
        placed: undefined,
      } as const;
      scheduler.receive(W1, question, 2);
    }
    scheduler.wake('sweep', 0, 2 + LIVE_TIMINGS.retryMs);
    return needs;
  };
  expect(sweptAfter(5)).toEqual([]);
  expect(sweptAfter(15)).toEqual([80]);
  expect(sweptAfter(0)).toEqual([]);
});

/** A job whose first task central has matched with a worker, and the scheduler's messages to central. */
function matched(spec: JobInput) {
  const sent: Message[] = [];
  const send = (to: unknown, message: Message): void => {
    if (to === CENTRAL) sent.push(message);
  };
  const scheduler = loneScheduler({}, { send });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1, W2]), 0);
  const job = scheduler.submit(parseJobSpec(spec), undefined, 0);
  const workers = [{ worker: W1, match: 1 }];
  scheduler.receive(
    CENTRAL,
    { type: 'matched', job: job.number, stage: 0, workers, noneWaiting: undefined, newcomers: undefined },
    0,
  );
  sent.splice(0);
  return { scheduler, job, sent };
}

/** Messages to central about a job with these options, one task of which is accepted. */
function messagesToCentral(options: Partial<JobInput>): Message[] {
  const messages: Message[] = [];
  const scheduler = loneScheduler({}, { send: (to, message) => to === CENTRAL && messages.push(message) });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1]), 0);
  messages.splice(0);
  scheduler.submit(
    parseJobSpec({ tasks: { count: 1, run: { sleep: 10 } }, estimate: 10, ...options }),
    undefined,
    0,
  );
  return messages;
}

test('the first need describes the job, with all stages if central must keep it', () => {
  const first = (options: Partial<JobInput>) => {
    const sent = messagesToCentral(options);
    expect(sent).toMatchObject([{ type: 'need', tasks: 1 }]);
    return (sent as MessageOf<'need'>[])[0]!.about!;
  };
  expect(first({})).toEqual({ tasks: 1, ageMs: 0 });
  expect(first({ deadline: '1m' })).toEqual({ tasks: 1, ageMs: 0, deadlineMs: 60_000 });
  expect(first({ priority: 'high' })).toMatchObject({ priority: 'high', weight: 8 });
  expect(first({ prefer: { rack: 'r1' } })).toMatchObject({ prefers: [{ name: 'rack', value: 'r1' }] });
  expect(first({ preemptible: true, value: 3 })).toMatchObject({ preemptible: true, value: 3 });
  const run = { sleep: 10 };
  const stages = [
    { name: 'a', tasks: { count: 1, run } },
    { name: 'b', after: ['a'], tasks: { count: 5, run } },
  ];
  expect(first({ tasks: undefined, stages })).toMatchObject({
    tasks: 6,
    stages: [{ tasks: 1 }, { tasks: 5, after: [0] }],
  });
});

test('central hears which jobs do not lend CPUs, from their needs', () => {
  expect(messagesToCentral({})).toMatchObject([{ type: 'need', lend: undefined }]);
  expect(messagesToCentral({ lend: false })).toMatchObject([{ type: 'need', lend: false }]);
});

test('central finds no workers for tasks that end with their job at the time limit', () => {
  const { scheduler, job, sent } = matched({
    tasks: { count: 100, run: { sleep: 10 } },
    estimate: 10,
    timeLimit: '1m',
    maxRunning: 2,
  });
  scheduler.wake('timeLimit', job.number, 60_000);
  expect(job.state).toBe('failed');
  expect(sent).toEqual([{ type: 'withdraw', job: job.number }]);
});

test('central finds no workers for tasks that fail like one that cannot start', () => {
  const { scheduler, job, sent } = matched({
    tasks: { count: 100, run: { exec: ['a-command'] } },
    estimate: 10,
  });
  const outcome = { ...COMPLETED, kind: 'failed', errorCode: 'command-not-found' } as const;
  const of = { report: 1, job: job.number, task: 0, attempt: 1, outcome, runMs: 0, ask: 0 };
  scheduler.receive(W1, { type: 'ended', output: [], outputBytes: 0, ...of }, 1);
  expect(job.state).toBe('failed');
  expect(sent).toEqual([{ type: 'withdraw', job: job.number }]);
});

test('unchanged needs are repeated at growing intervals, which a change resets', () => {
  const needs: number[] = [];
  let now = 0;
  const send = (_: unknown, message: Message): void => {
    if (message.type === 'need') needs.push(now);
  };
  const scheduler = loneScheduler({}, { send });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1], 4), 0);
  const job = scheduler.submit(
    parseJobSpec({ tasks: { count: 2, run: { sleep: '1h' } }, estimate: '1h' }),
    undefined,
    0,
  );
  const { retryMs } = LIVE_TIMINGS;
  const run = (retries: number): number => {
    needs.length = 0;
    for (let step = 0; step < retries; step++) {
      now += retryMs;
      const ack = {
        type: 'heartbeatAck',
        version: 1,
        ownersVersion: 0,
        matching: true,
        waiting: undefined,
      } as const;
      scheduler.receive(CENTRAL, ack, now);
      scheduler.wake('sweep', 0, now);
    }
    return needs.length;
  };
  expect(run(75)).toBe(4);
  expect(run(600)).toBeLessThanOrEqual(5);
  expect(run(10_000)).toBeLessThanOrEqual(5);
  const workers = [{ worker: W1, match: 1 }];
  const matched = { job: job.number, stage: 0, workers, noneWaiting: undefined, newcomers: undefined };
  scheduler.receive(CENTRAL, { type: 'matched', ...matched }, now);
  expect(run(6)).toBe(1);
});

describe('a list of what waits at central', () => {
  const { leaseMs } = LIVE_TIMINGS;

  /** A scheduler with one job of two waiting tasks that has just been reported. */
  function waiting(options: Partial<JobInput> = {}) {
    const sent: Message[] = [];
    const send = (to: unknown, message: Message): void => {
      if (to === CENTRAL) sent.push(message);
    };
    const scheduler = loneScheduler({}, { send });
    scheduler.start(0);
    scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }), 0);
    scheduler.receive(CENTRAL, joined(1, [W1], 4), 0);
    const tasks = { count: 2, run: { sleep: 1 } };
    const job = scheduler.submit(parseJobSpec({ tasks, ...options } as JobInput), undefined, 0);
    sent.splice(0);
    const list = (of: number, tasks: number, now: number, declared = false): Message[] => {
      const list = [{ job: of, stage: 0, tasks, declared }];
      const ack = {
        type: 'heartbeatAck',
        version: 1,
        ownersVersion: 0,
        matching: true,
        waiting: list,
      } as const;
      scheduler.receive(CENTRAL, ack, now);
      return sent.splice(0);
    };
    return { scheduler, job, list };
  }

  test('that agrees costs no message', () => {
    const { job, list } = waiting();
    expect(list(job.number, 2, leaseMs)).toEqual([]);
  });

  test('with another number of tasks is corrected once the last need cannot be in flight', () => {
    const { job, list } = waiting();
    expect(list(job.number, 5, leaseMs - 1)).toEqual([]);
    expect(list(job.number, 5, leaseMs)).toMatchObject([{ type: 'withdraw' }, { type: 'need', tasks: 2 }]);
    expect(list(job.number, 5, leaseMs + 1)).toEqual([]);
  });

  test('with a job that central does not keep is corrected by describing the job', () => {
    const run = { sleep: 1 };
    const stages = [
      { name: 'a', tasks: { count: 2, run } },
      { name: 'b', after: ['a'], tasks: { count: 2, run } },
    ];
    const { scheduler, job, list } = waiting({ weight: 2, user: 'ann', tasks: undefined, stages });
    expect(list(job.number, 2, leaseMs, true)).toEqual([]);
    const workers = [1, 2].map((match) => ({ worker: W1, match }));
    const matched = { job: job.number, stage: 0, workers, noneWaiting: undefined, newcomers: undefined };
    scheduler.receive(CENTRAL, { type: 'matched', ...matched }, leaseMs);
    expect(job.runningCount).toBe(2);
    expect(list(job.number, 0, 3 * leaseMs, true)).toEqual([]);
    const declared = [
      { type: 'withdraw' },
      { type: 'need', tasks: 0, about: { user: 'ann', weight: 2, stages: [{ tasks: 2 }, { tasks: 2 }] } },
    ];
    expect(list(job.number, 0, 3 * leaseMs)).toMatchObject(declared);
    job.hold = new Hold(true, undefined, 3 * leaseMs);
    expect(list(job.number, 0, 3 * leaseMs)).toMatchObject(declared);
  });

  test('with an ended or unknown job is corrected by withdrawing the job', () => {
    const { scheduler, job, list } = waiting();
    scheduler.cancel(job, 0);
    expect(list(job.number, 2, leaseMs - 1)).toMatchObject([{ type: 'withdraw' }]);
    expect(list(job.number, 2, 2 * leaseMs)).toEqual([{ type: 'withdraw', job: job.number }]);
    expect(list(99, 2, 0)).toEqual([{ type: 'withdraw', job: 99 }]);
  });
});
