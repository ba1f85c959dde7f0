import {
  type Address,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type MessageType,
  PRESETS,
  type Preset,
  parseJobSpec,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { CENTRAL, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';

/** The configured address; CENTRAL is the actual process. */
const CONFIGURED = 50 as Address;
const SUCCESSOR = 51 as Address;

/**
 * A scheduler whose jobs are matched; the test plays all other parties.
 *
 * @param holdsBack whether its driver has no connection to central
 */
function setUp(holdsBack = () => false, preset: Preset = PRESETS.goshawk) {
  let sent: { to: Address; message: Message }[] = [];
  const scheduler = loneScheduler(
    { central: CONFIGURED },
    {
      send: (to, message) => sent.push({ to, message }),
      holdsBack,
    },
  );
  const matching = welcome({ preset: { ...preset } });
  const take = <T extends MessageType>(type: T) => {
    const taken = sent.filter(({ message }) => message.type === type);
    sent = sent.filter(({ message }) => message.type !== type);
    return taken as { to: Address; message: MessageOf<T> }[];
  };
  const submit = (estimate: number, now = 1) =>
    scheduler.submit(
      parseJobSpec({ tasks: { count: 2, run: { sleep: estimate } }, estimate }),
      undefined,
      now,
    );
  scheduler.start(0);
  scheduler.receive(CENTRAL, matching, 0);
  scheduler.receive(CENTRAL, joined(1, [W1, W2]), 0);
  sent = [];
  return { scheduler, matching, take, submit };
}

const HOUR_MS = 3_600_000;

test('a new central receives the journals that were read before it started', () => {
  const { scheduler, matching, take } = setUp();
  const journals = [{ name: 'lost', tag: 'x', epoch: 3 }];
  scheduler.reportJournals(journals);
  expect(take('journals')).toMatchObject([{ to: CENTRAL, message: { journals } }]);
  scheduler.receive(CENTRAL, matching, 1);
  expect(take('journals')).toEqual([]);
  scheduler.receive(SUCCESSOR, matching, 2);
  expect(take('journals')).toMatchObject([{ to: SUCCESSOR, message: { journals } }]);
});

test('after its own suspension, it asks central before it looks for workers without it', () => {
  const { scheduler, take, submit } = setUp();
  submit(10);
  const resumedAt = 3 * LIVE_TIMINGS.leaseMs;
  scheduler.wake('heartbeat', 0, resumedAt);
  submit(10, resumedAt + 1);
  expect([take('probe'), take('enlist'), take('heartbeat').length]).toEqual([[], [], 1]);
  // Central does not answer.
  for (let beats = 1; beats <= 6; beats++)
    scheduler.wake('heartbeat', 0, resumedAt + beats * LIVE_TIMINGS.heartbeatMs);
  expect(take('probe').length).toBeGreaterThanOrEqual(2);
});

describe('when the connection to central breaks', () => {
  test('it probes for waiting and new short jobs immediately, and enlists again', () => {
    const { scheduler, take, submit } = setUp();
    submit(10);
    expect(take('probe')).toEqual([]);
    scheduler.disconnected(CENTRAL, 2);
    expect(take('probe').length).toBeGreaterThanOrEqual(2);
    expect(take('enlist')).toMatchObject([{ to: CONFIGURED }]);
    submit(10, 3);
    expect(take('probe').length).toBeGreaterThanOrEqual(2);
  });

  test('long jobs wait', () => {
    const { scheduler, take, submit } = setUp();
    submit(HOUR_MS);
    scheduler.disconnected(CENTRAL, 2);
    expect(take('probe')).toEqual([]);
  });

  test('gangs wait, and seeking workers get no task of one', () => {
    const { scheduler, take, submit } = setUp(undefined, { ...PRESETS.goshawk, gangs: 'all' });
    submit(10);
    scheduler.disconnected(CENTRAL, 2);
    submit(10, 3);
    scheduler.receive(W1, { type: 'seek', ask: 1, again: false, spare: {} }, 4);
    expect(take('probe')).toEqual([]);
    expect(take('run')).toEqual([]);
  });

  test('it repeats the request until it gets an answer', () => {
    const { scheduler, take } = setUp();
    scheduler.disconnected(CENTRAL, 2);
    scheduler.wake('heartbeat', 0, LIVE_TIMINGS.heartbeatMs);
    expect(take('enlist')).toMatchObject([{ to: CONFIGURED }, { to: CONFIGURED }]);
    expect(take('heartbeat')).toEqual([]);
  });

  test('it does not repeat a request that waits for a connection', () => {
    let isHeldBack = true;
    const { scheduler, take } = setUp(() => isHeldBack);
    scheduler.disconnected(CENTRAL, 2);
    for (const heartbeat of [1, 2, 3, 7, 8])
      scheduler.wake('heartbeat', 0, heartbeat * LIVE_TIMINGS.heartbeatMs);
    expect(take('enlist')).toHaveLength(1);
    scheduler.drain();
    expect(take('enlist')).toMatchObject([{ to: CONFIGURED, message: { draining: true } }]);
    isHeldBack = false;
    scheduler.wake('heartbeat', 0, 9 * LIVE_TIMINGS.heartbeatMs);
    expect(take('enlist')).toMatchObject([{ to: CONFIGURED, message: { draining: true } }]);
  });

  test('a message that central sent before the break does not count as its return', () => {
    const { scheduler, matching, take, submit } = setUp();
    scheduler.disconnected(CENTRAL, 2);
    scheduler.receive(
      CENTRAL,
      { type: 'heartbeatAck', version: 1, ownersVersion: 0, matching: true, waiting: undefined },
      3,
    );
    expect(scheduler.isCentralSilent(3)).toBe(true);
    submit(10, 3);
    expect(take('probe').length).toBeGreaterThanOrEqual(2);
    scheduler.receive(CENTRAL, matching, 4);
    expect(scheduler.isCentralSilent(4)).toBe(false);
  });

  test('a match that arrives late is served', () => {
    const { scheduler, take, submit } = setUp();
    const job = submit(10);
    scheduler.disconnected(CENTRAL, 2);
    const workers = [{ worker: W1, match: 1 }];
    scheduler.receive(
      CENTRAL,
      { type: 'matched', noneWaiting: undefined, newcomers: undefined, job: job.number, stage: 0, workers },
      3,
    );
    expect(take('run')).toMatchObject([{ to: W1, message: { task: 0, match: 1 } }]);
  });

  test('a repeated notice, and one about another party, have no effect', () => {
    const { scheduler, take, submit } = setUp();
    submit(10);
    scheduler.disconnected(W1, 1);
    scheduler.disconnected(CONFIGURED, 1);
    expect(scheduler.isCentralSilent(1)).toBe(false);
    scheduler.disconnected(CENTRAL, 2);
    const probes = take('probe').length;
    scheduler.disconnected(CENTRAL, 2);
    expect(take('enlist')).toHaveLength(1);
    expect(take('probe')).toEqual([]);
    expect(probes).toBeGreaterThanOrEqual(2);
  });

  test('before it has joined, nothing happens', () => {
    const sent: Message[] = [];
    const scheduler = loneScheduler({}, { send: (_to, message) => sent.push(message) });
    scheduler.start(0);
    scheduler.disconnected(CENTRAL, 1);
    expect(sent.map(({ type }) => type)).toEqual(['enlist']);
  });
});

describe('when central answers again', () => {
  test('the same central gets all needs again, because some may be lost, and probes are recalled', () => {
    const { scheduler, matching, take, submit } = setUp();
    submit(10);
    submit(HOUR_MS);
    take('need');
    scheduler.disconnected(CENTRAL, 2);
    scheduler.receive(CENTRAL, matching, 100);
    const needs = take('need').map(({ to, message }) => ({
      to,
      long: message.about?.long ?? false,
      tasks: message.tasks,
    }));
    expect(needs).toEqual([
      { to: CENTRAL, long: false, tasks: 2 },
      { to: CENTRAL, long: true, tasks: 2 },
    ]);
    expect(take('cancelProbes').length).toBeGreaterThan(0);
    take('probe');
    submit(10, 101);
    expect(take('probe')).toEqual([]);
  });

  test('a new central gets all needs as well', () => {
    const { scheduler, matching, take, submit } = setUp();
    submit(10);
    take('need');
    scheduler.disconnected(CENTRAL, 2);
    scheduler.receive(SUCCESSOR, matching, 100);
    expect(take('need')).toMatchObject([{ to: SUCCESSOR, message: { tasks: 2 } }]);
    // The broken connection was the one to the previous central.
    scheduler.disconnected(CENTRAL, 101);
    expect(scheduler.isCentralSilent(101)).toBe(false);
  });

  test('a task is assigned once, whichever worker asks', () => {
    const { scheduler, matching, take, submit } = setUp();
    const job = submit(10);
    scheduler.disconnected(CENTRAL, 2);
    const ask = { type: 'ask', ask: 1, job: job.number, stage: 0, again: false, placed: undefined } as const;
    scheduler.receive(W1, ask, 3);
    scheduler.receive(CENTRAL, matching, 4);
    expect(take('need')).toMatchObject([{ message: { tasks: 2 } }, { message: { tasks: 1 } }]);
    const workers = [W1, W2].map((worker) => ({ worker, match: 1 }));
    scheduler.receive(
      CENTRAL,
      { type: 'matched', noneWaiting: undefined, newcomers: undefined, job: job.number, stage: 0, workers },
      5,
    );
    expect(take('run')).toMatchObject([
      { to: W1, message: { task: 0, ask: 1 } },
      { to: W1, message: { task: 1, match: 1 } },
    ]);
    expect(take('unused')).toMatchObject([{ message: { worker: W2 } }]);
  });

  test('each break starts over', () => {
    const { scheduler, matching, take, submit } = setUp();
    submit(10);
    for (let now = 10; now <= 50; now += 10) {
      scheduler.disconnected(CENTRAL, now);
      expect(take('probe').length).toBeGreaterThanOrEqual(2);
      scheduler.receive(CENTRAL, matching, now + 5);
      expect(take('cancelProbes').length).toBeGreaterThan(0);
    }
    expect(scheduler.counters.probesSent).toBe(scheduler.counters.probesRecalled);
  });
});

test('while central is silent, a worker that asks has a slot for short tasks, regardless of the bitmap', () => {
  const { scheduler, take, submit } = setUp();
  scheduler.receive(CENTRAL, { type: 'occupied', bits: Uint8Array.of(0b11) }, 1);
  scheduler.disconnected(CENTRAL, 2);
  scheduler.receive(W2, { type: 'seek', ask: 1, again: false, spare: {} }, 3);
  submit(10, 4);
  expect(take('probe')[0]?.to).toBe(W2);
});
