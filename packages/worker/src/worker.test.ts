import {
  type Address,
  type ClusterSettings,
  COMPLETED,
  DEFAULT_POLICY,
  type KillReason,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type Outcome,
  type PolicySettings,
  PRESETS,
  type Resources,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TaskOrder, WorkerTimer } from './contract.js';
import { Worker } from './worker.js';

const CENTRAL = 1 as Address;
const OWNER = 2 as Address;
const [SELF, OTHER] = [11, 12] as [Address, Address];
const { heartbeatMs, leaseMs, retryMs, retriesMax } = LIVE_TIMINGS;

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function textOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

const PEERS: MessageOf<'peers'> = {
  type: 'peers',
  version: 1,
  since: 0,
  joined: [],
  left: [],
  ownersLost: [],
  owners: [OWNER],
  ownersAway: [],
};

/** A task that central has matched. */
const run: MessageOf<'run'> = {
  type: 'run',
  match: 1,
  job: 1,
  stage: 0,
  task: 0,
  attempt: 1,
  payload: {},
  jobId: 'j1',
  long: false,
  demand: {},
  timeoutMs: undefined,
  apartMs: undefined,
  expectedMs: undefined,
  execution: undefined,
  inputs: undefined,
  gang: undefined,
  user: undefined,
  ask: 0,
};

/** A single worker; the test plays all other parties and the executor. */
class Bench {
  readonly worker: Worker;
  readonly orders: { slot: number; order: TaskOrder }[] = [];
  readonly kills: { slot: number; reason: KillReason }[] = [];
  readonly pauses: { slot: number; on: boolean }[] = [];
  now = 0;
  #sent: { to: Address; message: Message }[] = [];
  readonly #timers = new Map<string, { timer: WorkerTimer; key: number; at: Millis }>();

  constructor(slots = 1, capacity: Resources = {}, { places = slots, lends = slots } = {}) {
    const config = {
      name: 'w',
      self: SELF,
      slots,
      places,
      lends,
      capacity,
      central: CENTRAL,
      registerRetryMs: heartbeatMs,
    };
    this.worker = new Worker(config, {
      random: () => 0.5,
      send: (to: Address, message: Message) => this.#sent.push({ to, message }),
      setTimer: (timer: WorkerTimer, key: number, at: Millis) =>
        this.#timers.set(`${timer}/${key}`, { timer, key, at }),
      clearTimer: (timer: WorkerTimer, key: number) => this.#timers.delete(`${timer}/${key}`),
      nameOf: (address: Address) => `party ${address}`,
      execute: (slot: number, order: TaskOrder) => this.orders.push({ slot, order }),
      kill: (slot: number, reason: KillReason) => this.kills.push({ slot, reason }),
      pause: (slot: number) => this.pauses.push({ slot, on: true }),
      resume: (slot: number) => this.pauses.push({ slot, on: false }),
      drained() {},
    });
    this.worker.start(0);
    this.#sent = [];
  }

  welcome(policy: Partial<PolicySettings> = {}): this {
    const settings: ClusterSettings = {
      policy: { ...DEFAULT_POLICY, preset: { ...PRESETS.hawk }, ...policy },
      timings: LIVE_TIMINGS,
    };
    this.receive(CENTRAL, { type: 'welcome', settings });
    return this;
  }

  receive(from: Address, message: Message): void {
    this.worker.receive(from, message, this.now);
    this.worker.checkInvariants();
  }

  probe(job: number, long = false): void {
    const facts = { long, lane: 'normal', demand: {}, sizeMs: 0, requires: undefined } as const;
    this.receive(OWNER, { type: 'probe', job, stage: 0, ...facts });
  }

  bind(ask: number, job: number, task = 0, timeoutMs?: number, apartMs?: number): void {
    const payload = { sleep: 1 };
    this.receive(OWNER, {
      type: 'run',
      ask,
      match: 0,
      job,
      stage: 0,
      task,
      attempt: 1,
      payload,
      jobId: 'j1',
      long: false,
      demand: {},
      timeoutMs,
      apartMs,
      expectedMs: undefined,
      execution: undefined,
      inputs: undefined,
      gang: undefined,
      user: undefined,
    });
  }

  end(slot = 0, outcome: Outcome = COMPLETED): void {
    this.worker.taskEnded(slot, outcome, 5, this.now);
    this.worker.checkInvariants();
  }

  /** Advances the clock and fires the timers. */
  pass(ms: Millis): void {
    const until = this.now + ms;
    for (;;) {
      const next = [...this.#timers.values()].sort((one, other) => one.at - other.at)[0];
      if (next === undefined || next.at > until) break;
      this.#timers.delete(`${next.timer}/${next.key}`);
      this.now = Math.max(this.now, next.at);
      this.worker.wake(next.timer, next.key, this.now);
      this.worker.checkInvariants();
    }
    this.now = until;
  }

  get sent(): readonly { readonly to: Address; readonly message: Message }[] {
    return this.#sent;
  }

  takeAll(): Message[] {
    return this.#sent.splice(0).map(({ message }) => message);
  }

  take<T extends Message['type']>(type: T): Extract<Message, { type: T }>[] {
    const taken = this.#sent.filter(({ message }) => message.type === type).map(({ message }) => message);
    this.#sent = [];
    return taken as Extract<Message, { type: T }>[];
  }
}

test.each([2 ** 32 + 7, Number.MAX_SAFE_INTEGER])('a task of job %d ends as one of that job', (job) => {
  const bench = new Bench().welcome();
  bench.probe(job);
  bench.bind(1, job);
  bench.end();
  expect(bench.take('ended')).toMatchObject([{ job, task: 0, attempt: 1 }]);
});

describe('a request for a task', () => {
  test('without an answer is repeated with the same number, and its probe finally declined', () => {
    const bench = new Bench().welcome();
    bench.probe(1);
    expect(bench.take('ask')).toMatchObject([{ ask: 1, again: false }]);
    bench.pass((retriesMax - 1) * retryMs);
    expect(bench.take('ask')).toMatchObject(
      Array.from({ length: retriesMax - 1 }, () => ({ ask: 1, again: true })),
    );
    bench.pass(retryMs);
    expect(bench.take('declined')).toMatchObject([{ job: 1, probes: 1 }]);
    expect(bench.worker.isIdle).toBe(true);
  });

  test.each([
    ['was given up', (bench: Bench) => bench.pass(retriesMax * retryMs)],
    [
      'is for an owner that is away',
      (bench: Bench) => bench.receive(CENTRAL, { ...PEERS, ownersAway: [OWNER] }),
    ],
    [
      'is for an owner that is lost',
      (bench: Bench) => bench.receive(CENTRAL, { ...PEERS, ownersLost: [OWNER] }),
    ],
  ])('that %s leaves a slot that is reported to central as free', (_, happen) => {
    const bench = new Bench().welcome({ preset: { ...PRESETS.goshawk } });
    bench.probe(1);
    bench.take('ask');
    happen(bench);
    expect(bench.take('pull').at(-1)).toMatchObject({ free: 1 });
  });

  test('that was sent before the worker was welcomed is repeated as well', () => {
    const bench = new Bench();
    bench.probe(1);
    bench.take('ask');
    bench.pass(retryMs / 2);
    bench.welcome();
    bench.pass(2 * retryMs);
    expect(bench.take('ask')).toMatchObject([
      { ask: 1, again: true },
      { ask: 1, again: true },
    ]);
  });

  test('is not answered by a message from another party', () => {
    const bench = new Bench().welcome();
    bench.probe(1);
    bench.receive(OTHER, { ...run, ask: 1, match: 0 });
    expect(bench.orders).toEqual([]);
    bench.bind(1, 1);
    expect(bench.orders).toHaveLength(1);
  });
});

test('ends before the welcome are reported until they are confirmed', () => {
  const bench = new Bench();
  bench.probe(1);
  bench.bind(1, 1);
  bench.end();
  bench.welcome();
  const [first] = bench.take('ended');
  expect(first).not.toHaveProperty('endedAgoMs');
  bench.pass(3 * retryMs);
  const [report] = bench.take('ended');
  expect(report).toMatchObject({ job: 1, task: 0, endedAgoMs: retryMs });
  bench.receive(OWNER, { type: 'confirm', report: report!.report });
  bench.pass(3 * retryMs);
  expect(bench.take('ended')).toEqual([]);
});

test('a central that sends an update with every heartbeat is not silent', () => {
  const bench = new Bench().welcome();
  for (let version = 1; version <= 10; version++) {
    bench.pass(heartbeatMs);
    bench.receive(CENTRAL, {
      type: 'peers',
      version,
      since: version - 1,
      joined: [OTHER],
      left: [],
      ownersLost: [],
      owners: [],
      ownersAway: [],
    });
  }
  expect(bench.take('register')).toEqual([]);
});

test('a late or duplicate timeout does not touch the task that runs in the slot now', () => {
  const bench = new Bench().welcome();
  bench.probe(1);
  bench.bind(1, 1, 0, 50);
  bench.worker.taskStarted(0, bench.now);
  bench.pass(40);
  bench.end();
  bench.probe(2);
  bench.bind(2, 2, 0, 50);
  bench.worker.taskStarted(0, bench.now);
  bench.pass(20);
  bench.worker.wake('taskTimeout', 0, bench.now);
  expect(bench.kills).toEqual([]);
  bench.pass(30);
  expect(bench.kills).toEqual([{ slot: 0, reason: 'timeout' }]);
});

test('output is sent periodically, and its end with the report, every byte once and in order', () => {
  const bench = new Bench().welcome();
  bench.probe(1);
  bench.bind(1, 1);
  const print = (text: string) => bench.worker.taskOutput(0, 'stdout', bytesOf(text), bench.now);
  print('one ');
  print('two ');
  bench.pass(LIVE_TIMINGS.progressMs);
  expect(bench.take('output')).toMatchObject([{ offset: 0, chunk: { bytes: bytesOf('one two ') } }]);
  bench.receive(OWNER, { type: 'outputReceived', job: 1, task: 0, attempt: 1, bytes: 8, gap: false });
  print('three');
  bench.end();
  expect(bench.take('ended')).toMatchObject([
    { output: [{ stream: 'stdout', bytes: bytesOf('three') }], outputBytes: 13 },
  ]);
});

describe('output of a task', () => {
  const SUCCESSOR = 3 as Address;
  const task = { job: 1, task: 0, attempt: 1 };

  function printing() {
    const bench = new Bench().welcome();
    bench.probe(1);
    bench.bind(1, 1);
    const print = (text: string) => {
      bench.worker.taskOutput(0, 'stdout', bytesOf(text), bench.now);
      bench.pass(LIVE_TIMINGS.progressMs);
      return bench.take('output').map(({ offset, chunk }) => [offset, textOf(chunk.bytes)]);
    };
    const received = (bytes: number, gap = false, owner = OWNER) =>
      bench.receive(owner, { type: 'outputReceived', ...task, bytes, gap });
    const resume = (audit: number, owner = SUCCESSOR) =>
      bench.receive(owner, {
        type: 'resume',
        previousIncarnations: owner === SUCCESSOR ? [OWNER] : [],
        audit,
      });
    return { bench, print, received, resume };
  }

  test('is sent again, as a whole, to a new incarnation of the owner, after the list of its tasks', () => {
    const { bench, print, received, resume } = printing();
    expect(print('one ')).toEqual([[0, 'one ']]);
    received(4);
    expect(print('two ')).toEqual([[4, 'two ']]);
    resume(0);
    const types = bench.sent.map(({ to, message }) => [to, message.type]);
    expect(types).toEqual([
      [SUCCESSOR, 'holding'],
      [SUCCESSOR, 'output'],
    ]);
    expect(bench.take('output')).toMatchObject([{ ...task, offset: 0, keptFrom: 0 }]);
    received(8, false, SUCCESSOR);
    expect(print('three')).toEqual([[8, 'three']]);
  });

  test('of a task that ended meanwhile goes before its report', () => {
    const { bench, print, received, resume } = printing();
    print('x'.repeat(40_000));
    print('y'.repeat(40_000));
    received(80_000);
    print('z'.repeat(10));
    bench.end();
    expect(bench.take('ended')).toMatchObject([{ output: [{ bytes: { length: 10 } }], outputBytes: 80_010 }]);
    resume(0);
    expect(bench.take('ended')).toEqual([]);
    received(40_000, false, SUCCESSOR);
    bench.take('output');
    received(80_000, false, SUCCESSOR);
    const [report] = bench.take('ended');
    expect(report).toMatchObject({ outputBytes: 80_010, output: [{ bytes: { length: 10 } }] });
    bench.receive(SUCCESSOR, { type: 'confirm', report: report!.report });
    expect(bench.worker.memory.keptOutput.bytes).toBe(0);
  });

  test('is sent again from a gap on, and with an audit if it was not acknowledged', () => {
    const { bench, print, received, resume } = printing();
    print('one ');
    received(4);
    print('two ');
    print('three ');
    received(4, true);
    expect(bench.take('output')).toMatchObject([{ offset: 4, chunk: { bytes: { length: 10 } } }]);
    resume(1, OWNER);
    expect(bench.take('output')).toMatchObject([{ offset: 4 }]);
    received(14);
    resume(2, OWNER);
    expect(bench.take('output')).toEqual([]);
  });

  test('is in the report of the end unless it was acknowledged', () => {
    const { bench, print, received } = printing();
    print('one ');
    received(4);
    print('two ');
    bench.worker.taskOutput(0, 'stdout', bytesOf('three'), bench.now);
    bench.end();
    const [{ output }] = bench.take('ended') as [MessageOf<'ended'>];
    expect(output.map(({ bytes }) => textOf(bytes)).join('')).toBe('two three');
  });

  test('is freed when the owner is lost', () => {
    const { bench, print } = printing();
    print('one ');
    expect(bench.worker.memory.keptOutput.bytes).toBeGreaterThan(0);
    bench.receive(CENTRAL, { ...PEERS, ownersLost: [OWNER] });
    bench.end();
    expect(bench.worker.memory.keptOutput.bytes).toBe(0);
  });
});

test('a worker confirms a repeated drain request, because central may not know its state', () => {
  const bench = new Bench().welcome();
  bench.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: undefined });
  expect(bench.take('register')).toMatchObject([{ draining: true }]);
  bench.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: undefined });
  expect(bench.take('register')).toMatchObject([{ draining: true }]);
});

test('a worker registers with the remaining time of its drain, until the drain is undone', () => {
  const bench = new Bench().welcome();
  const registered = () => bench.take('register').map(({ drainDeadlineMs }) => drainDeadlineMs);
  bench.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: 1_000 });
  expect(registered()).toEqual([1_000]);
  bench.welcome();
  bench.pass(400);
  bench.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: undefined });
  expect(registered()).toEqual([600]);
  bench.receive(CENTRAL, { type: 'drain', on: false, deadlineMs: undefined });
  expect(registered()).toEqual([undefined]);
});

test('tasks that still run at the deadline of a drain are stopped, unless the drain is undone before', () => {
  const drained = (deadlineMs: number) => {
    const bench = new Bench().welcome();
    bench.probe(1);
    bench.bind(bench.take('ask')[0]!.ask, 1);
    bench.receive(CENTRAL, { type: 'drain', on: true, deadlineMs });
    return bench;
  };
  const stopped = drained(1_000);
  stopped.pass(999);
  expect(stopped.kills).toEqual([]);
  stopped.pass(1);
  expect(stopped.kills).toEqual([{ slot: 0, reason: 'drained' }]);
  const resumed = drained(1_000);
  resumed.receive(CENTRAL, { type: 'drain', on: false, deadlineMs: undefined });
  resumed.pass(2_000);
  expect(resumed.kills).toEqual([]);
  const stopping = new Bench().welcome();
  stopping.probe(1);
  stopping.bind(stopping.take('ask')[0]!.ask, 1);
  stopping.worker.drain(stopping.now);
  stopping.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: 1_000 });
  stopping.pass(1_000);
  expect(stopping.kills).toEqual([{ slot: 0, reason: 'drained' }]);
});

describe('a match', () => {
  const ANOTHER_CENTRAL = 99 as Address;
  const run = (match: number, job: number): MessageOf<'run'> => ({
    type: 'run',
    match,
    job,
    stage: 0,
    task: 0,
    attempt: 1,
    payload: {},
    jobId: 'j1',
    long: false,
    demand: {},
    timeoutMs: undefined,
    apartMs: undefined,
    expectedMs: undefined,
    execution: undefined,
    inputs: undefined,
    gang: undefined,
    user: undefined,
    ask: 0,
  });
  const matched = () => new Bench().welcome({ preset: { ...PRESETS.goshawk }, seriesMs: 0 });

  test('whose task has run here does not run it again, even if its owner has been considered lost since', () => {
    const bench = matched();
    bench.receive(OWNER, run(1, 1));
    bench.end();
    const peers = { version: 1, since: 0, joined: [], left: [], owners: [], ownersAway: [] };
    bench.receive(CENTRAL, { type: 'peers', ...peers, ownersLost: [OWNER] });
    bench.take('pull');
    bench.receive(OWNER, run(1, 1));
    expect(bench.orders).toHaveLength(1);
    expect(bench.take('declined')).toMatchObject([{ job: 1 }]);
  });

  test('that a full worker declines is reported at once, because no slot becomes free', () => {
    const bench = matched();
    bench.receive(OWNER, run(1, 1));
    bench.take('pull');
    bench.receive(OWNER, run(2, 2));
    expect(bench.takeAll()).toMatchObject([
      { type: 'declined', job: 2 },
      { type: 'pull', free: 0, heard: [2], runs: [1] },
    ]);
  });

  test('of the previous central is never taken for one of the next', () => {
    const bench = matched();
    bench.receive(OWNER, run(3, 1));
    bench.end();
    bench.take('pull');
    const policy = { ...DEFAULT_POLICY, preset: { ...PRESETS.goshawk }, seriesMs: 0 };
    const settings = { policy, timings: LIVE_TIMINGS };
    bench.receive(ANOTHER_CENTRAL, { type: 'welcome', settings });
    const [{ heard }] = bench.take('pull') as [MessageOf<'pull'>];
    expect(Math.min(...heard)).toBeGreaterThan(1_000);
    bench.receive(OWNER, run(4, 2));
    expect(bench.orders).toHaveLength(2);
    bench.end();
    expect(bench.take('pull').at(-1)!.heard).toEqual([4, ...heard]);
  });

  test('from before this worker registered again with the same central is reported, too', () => {
    const bench = matched();
    bench.receive(OWNER, run(1, 1));
    bench.receive(CENTRAL, { type: 'notRegistered' });
    bench.welcome({ preset: { ...PRESETS.goshawk }, seriesMs: 0 });
    const [{ heard }] = bench.take('pull').slice(-1) as [MessageOf<'pull'>];
    bench.receive(OWNER, run(2, 2));
    expect(bench.take('pull')).toMatchObject([{ free: 0, heard: [2, ...heard], runs: [1] }]);
  });
});

test('a slot that continues a series is still reported with its match when another slot is free', () => {
  const bench = new Bench(2).welcome({ preset: { ...PRESETS.goshawk } });
  bench.receive(OWNER, run);
  bench.receive(OWNER, { ...run, match: 2, task: 1 });
  bench.end(0);
  const [{ ask }] = bench.take('ended') as [MessageOf<'ended'>];
  bench.end(1, { ...COMPLETED, kind: 'failed' });
  expect(bench.take('pull').at(-1)).toMatchObject({ free: 1, runs: [1] });
  bench.receive(OWNER, { ...run, match: 0, ask, task: 2 });
  bench.receive(OWNER, { ...run, match: 3, task: 3 });
  bench.end(1, { ...COMPLETED, kind: 'failed' });
  expect(bench.take('pull').at(-1)).toMatchObject({ free: 1, runs: [1] });
});

test('the reserve counts only completed short tasks, because a killed one may have been long', () => {
  const bench = new Bench().welcome({ preset: { ...PRESETS.goshawk }, estimator: 'auto', seriesMs: 0 });
  const shortMs = (outcome: Outcome) => {
    bench.probe(1);
    bench.bind(bench.take('ask')[0]!.ask, 1);
    bench.end(0, outcome);
    return bench.take('pull').at(-1)!.shortMs;
  };
  expect(shortMs(COMPLETED)).toBe(5);
  for (const kind of ['lost', 'cancelled', 'timeout', 'failed'] as const)
    expect(shortMs({ ...COMPLETED, kind })).toBe(0);
});

describe('a series of tiny tasks', () => {
  const begun = (policy: Partial<PolicySettings> = {}, message: Partial<MessageOf<'run'>> = {}) => {
    const bench = new Bench().welcome({ preset: { ...PRESETS.goshawk }, seriesMs: 100, ...policy });
    bench.receive(OWNER, { ...run, ...message });
    return bench;
  };
  const asksAtEnd = (bench: Bench, outcome?: Outcome) => {
    bench.end(0, outcome);
    return bench.take('ended')[0]!.ask > 0;
  };

  test('ends after its time limit, and central learns of the free slot', () => {
    const bench = begun();
    let tasks = 0;
    for (;;) {
      bench.now += 30;
      bench.end();
      const [ended] = bench.take('ended');
      tasks++;
      if (ended!.ask === 0) break;
      bench.bind(ended!.ask, 1, tasks);
    }
    expect(tasks).toBe(4);
    expect(bench.now).toBeLessThan(100 + 30);
    bench.receive(OWNER, { ...run, match: 2, task: 9 });
    expect(asksAtEnd(bench)).toBe(true);
  });

  test.each([
    ['is switched off', begun({ seriesMs: 0 }), undefined],
    ['takes as long as the task', begun({ seriesMs: 5 }), undefined],
    ['would be of long tasks', begun({}, { long: true }), undefined],
    ['would begin with one that failed', begun(), { ...COMPLETED, kind: 'failed' } as Outcome],
  ])('does not begin if it %s', (_, bench, outcome) => {
    expect(asksAtEnd(bench, outcome)).toBe(false);
  });

  test('ends if an entry waits, or the worker accepts no more work', () => {
    const waited = begun();
    waited.probe(7);
    expect(asksAtEnd(waited)).toBe(false);
    const draining = begun();
    draining.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: undefined });
    expect(asksAtEnd(draining)).toBe(false);
  });

  test('ends when its owner has no more tasks', () => {
    const bench = begun();
    bench.end();
    const [{ ask }] = bench.take('ended') as [MessageOf<'ended'>];
    bench.receive(OWNER, { type: 'none', ask });
    expect(bench.take('pull')).toMatchObject([{ free: 1 }]);
  });
});

describe('a chunk: several tasks in answer to one question', () => {
  const OTHER = 9 as typeof OWNER;
  /** Tasks 1 to 3 have arrived for the slot in which task 0 has ended. */
  const begun = () => {
    const bench = new Bench(2).welcome({ preset: { ...PRESETS.goshawk }, seriesMs: 100 });
    bench.receive(OWNER, run);
    bench.end();
    const [{ ask }] = bench.take('ended') as [MessageOf<'ended'>];
    for (let task = 1; task <= 3; task++) bench.receive(OWNER, { ...run, match: 0, ask, task });
    return { bench, ask };
  };
  const givenBack = (bench: Bench) => bench.take('declined').map(({ placed }) => placed?.task);

  test('runs in one slot, one task after another, and the last asks for more', () => {
    const { bench } = begun();
    const asks: boolean[] = [];
    for (let task = 1; task <= 3; task++) {
      expect(bench.orders.map(({ order }) => order.task)).toEqual([0, 1, 2, 3].slice(0, task + 1));
      bench.now += 1;
      bench.end();
      asks.push(...bench.take('ended').map(({ ask }) => ask > 0));
    }
    expect(asks).toEqual([false, false, true]);
  });

  test('runs to its end after the time limit of the series, and then asks no more', () => {
    const { bench } = begun();
    for (let task = 1; task <= 3; task++) {
      bench.now += 99;
      bench.end();
    }
    expect(bench.orders.map(({ order }) => order.task)).toEqual([0, 1, 2, 3]);
    expect(bench.take('ended').map(({ ask }) => ask)).toEqual([0, 0, 0]);
  });

  test('reports ends together, with a bounded delay', () => {
    const { bench } = begun();
    bench.end();
    bench.now += 1;
    bench.end();
    expect(bench.take('ended')).toEqual([]);
    bench.end();
    expect(bench.take('ended').map(({ task }) => task)).toEqual([1, 2, 3]);
    const late = begun().bench;
    late.end();
    late.pass(3);
    expect(late.take('ended')).toMatchObject([{ task: 1, ask: 0 }]);
  });

  test('is returned if its tasks are not tiny', () => {
    const { bench } = begun();
    bench.pass(9);
    expect(givenBack(bench)).toEqual([]);
    bench.pass(2);
    expect(givenBack(bench)).toEqual([2, 3]);
    bench.end();
    expect(bench.take('ended')[0]!.ask).toBeGreaterThan(0);
  });

  test('is returned if one of its tasks fails, or the worker accepts no more work', () => {
    const failed = begun().bench;
    failed.end(0, { ...COMPLETED, kind: 'failed' });
    expect(givenBack(failed)).toEqual([2, 3]);
    const draining = begun().bench;
    draining.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: undefined });
    expect(givenBack(draining)).toEqual([2, 3]);
  });

  test('returns tasks that are cancelled or turn out to be long, and continues with the rest', () => {
    const { bench } = begun();
    bench.receive(OWNER, { type: 'cancelTask', job: 1, task: 2, attempt: 1 });
    expect(givenBack(bench)).toEqual([2]);
    bench.receive(OWNER, { type: 'nowLong', job: 1, task: 3, attempt: 1 });
    expect(givenBack(bench)).toEqual([3]);
    bench.end();
    expect(bench.orders.map(({ order }) => order.task)).toEqual([0, 1]);
  });

  test('ignores duplicate tasks and tasks of another owner', () => {
    const { bench, ask } = begun();
    bench.receive(OWNER, { ...run, match: 0, ask, task: 2 });
    bench.receive(OTHER, { ...run, match: 0, ask, task: 7 });
    expect(givenBack(bench)).toEqual([7]);
    for (let task = 1; task <= 3; task++) bench.end();
    expect(bench.orders.map(({ order }) => order.task)).toEqual([0, 1, 2, 3]);
  });

  test('is reported with the time since its start, also after its end', () => {
    const { bench } = begun();
    bench.now += 20;
    bench.end();
    bench.now += 5_000;
    bench.receive(OWNER, {
      type: 'resume',
      previousIncarnations: [],
      audit: 1,
    });
    const [{ tasks }] = bench.take('holding') as [MessageOf<'holding'>];
    expect(tasks.find(({ task }) => task === 0)!.elapsedMs).toBeGreaterThanOrEqual(5_000);
  });

  test('is reported to its owner as a whole', () => {
    const { bench } = begun();
    bench.receive(OWNER, {
      type: 'resume',
      previousIncarnations: [],
      audit: 1,
    });
    const [{ tasks }] = bench.take('holding') as [MessageOf<'holding'>];
    expect(tasks.map(({ task }) => task).sort()).toEqual([0, 1, 2, 3]);
  });
});

test('the number that a task sees is reported while it runs and after its end, if it is not that of the attempt', () => {
  const bench = new Bench(2).welcome({ preset: { ...PRESETS.goshawk } });
  bench.receive(OWNER, { ...run, attempt: 5, execution: 2 });
  bench.receive(OWNER, { ...run, match: 2, task: 1, attempt: 5 });
  const numbers = () => {
    bench.receive(OWNER, { type: 'resume', previousIncarnations: [], audit: 1 });
    const [{ tasks }] = bench.take('holding') as [MessageOf<'holding'>];
    return tasks.map(({ task, execution }) => [task, execution]).sort();
  };
  const held = [
    [0, 2],
    [1, undefined],
  ];
  expect(numbers()).toEqual(held);
  bench.end(0);
  bench.end(1);
  expect(numbers()).toEqual(held);
});

describe('a worker on which all starts fail', () => {
  const notStarted: Outcome = { ...COMPLETED, kind: 'lost', errorCode: 'process-limit', errorMessage: 'why' };

  test('accepts nothing for a while, and then reports its free slots to central', () => {
    const bench = new Bench(2).welcome({ preset: { ...PRESETS.goshawk } });
    bench.probe(1);
    bench.bind(1, 1);
    bench.end(0, notStarted);
    expect(bench.take('quarantine')).toEqual([{ type: 'quarantine', reason: 'process-limit: why' }]);
    bench.probe(2);
    expect(bench.take('declined')).toMatchObject([{ job: 2, probes: 1 }]);
    bench.pass(heartbeatMs);
    expect(bench.take('pull').at(-1)).toMatchObject({ free: 2 });
    bench.probe(3);
    expect(bench.take('ask')).toMatchObject([{ job: 3 }]);
  });

  test('accepts tasks again at once when an operator releases it', () => {
    const bench = new Bench(2).welcome({ preset: { ...PRESETS.goshawk } });
    bench.probe(1);
    bench.bind(1, 1);
    bench.end(0, notStarted);
    expect(bench.take('quarantine')).toHaveLength(1);
    bench.receive(CENTRAL, { type: 'drain', on: false, deadlineMs: undefined });
    expect(bench.take('quarantine')).toEqual([{ type: 'quarantine', reason: '' }]);
    bench.probe(3);
    expect(bench.take('ask')).toMatchObject([{ job: 3 }]);
  });

  test('repeats its quarantine with each heartbeat', () => {
    const bench = new Bench().welcome();
    for (let time = 0; time < 8; time++) {
      bench.probe(1);
      bench.bind(time + 1, 1);
      bench.end(0, notStarted);
      if (time < 7) bench.pass(60_000);
    }
    // The worker has been silent for long.
    bench.welcome();
    bench.take('quarantine');
    bench.pass(3.5 * heartbeatMs);
    expect(bench.take('quarantine')).toHaveLength(3);
  });
});

describe('a worker that was suspended', () => {
  test('for more than half its lease returns tasks that are already in its mailbox, and accepts tasks again a heartbeat later', () => {
    const bench = new Bench(2).welcome();
    bench.pass(2 * heartbeatMs);
    bench.probe(1);
    // The process is suspended; the owner has given up on tasks in flight to it.
    bench.now += 9_000;
    bench.bind(1, 1);
    expect(bench.orders).toEqual([]);
    expect(bench.take('declined')).toMatchObject([{ job: 1, placed: { task: 0, attempt: 1 } }]);
    bench.pass(3 * heartbeatMs);
    bench.probe(2);
    const [ask] = bench.take('ask');
    bench.bind(ask!.ask, 2);
    expect(bench.orders).toHaveLength(1);
  });

  test('for less starts them as usual', () => {
    const bench = new Bench(2).welcome();
    bench.pass(2 * heartbeatMs);
    bench.probe(1);
    bench.now += LIVE_TIMINGS.leaseMs / 2;
    bench.bind(1, 1);
    expect(bench.orders).toHaveLength(1);
  });
});

describe('a worker that fails tasks that complete elsewhere', () => {
  test('returns waiting entries, and accepts nothing for a while', () => {
    const bench = new Bench().welcome();
    bench.probe(1);
    bench.bind(1, 1);
    bench.probe(2);
    bench.take('ask');
    bench.receive(OWNER, { type: 'unfit', reason: 'tasks fail here', user: undefined });
    expect(bench.take('declined')).toMatchObject([{ job: 2 }]);
    bench.probe(3);
    expect(bench.take('declined')).toMatchObject([{ job: 3 }]);
    bench.pass(6_000);
    bench.end();
    bench.probe(4);
    expect(bench.take('ask')).toMatchObject([{ job: 4 }]);
  });

  test('is not kept from a user whose tasks complete there', () => {
    const bench = new Bench().welcome();
    bench.probe(1);
    const { ask } = bench.take('ask')[0]!;
    bench.receive(OWNER, { ...run, ask, match: 0, user: 'ann' });
    bench.end();
    bench.receive(OWNER, { type: 'unfit', reason: 'tasks fail here', user: 'mallory' });
    bench.probe(2);
    expect(bench.take('ask')).toMatchObject([{ job: 2 }]);
    bench.receive(OWNER, { type: 'unfit', reason: 'tasks fail here', user: 'bob' });
    bench.probe(3);
    expect(bench.take('declined').at(-1)).toMatchObject({ job: 3 });
  });
});

describe('a worker with a full disk', () => {
  test('returns waiting entries, and accepts nothing until there is room', () => {
    const bench = new Bench().welcome();
    bench.probe(1);
    bench.bind(1, 1);
    bench.probe(2);
    bench.take('ask');
    bench.worker.diskFull('the disk of /tmp is full', bench.now);
    expect(bench.take('declined')).toMatchObject([{ job: 2 }]);
    bench.end();
    bench.probe(3);
    expect(bench.take('declined')).toMatchObject([{ job: 3 }]);
    bench.pass(13_000);
    bench.probe(4);
    expect(bench.take('ask')).toMatchObject([{ job: 4 }]);
  });
});

describe('a task that runs alone', () => {
  test('keeps other tasks away until it ends', () => {
    const bench = new Bench(2).welcome();
    bench.probe(1);
    bench.bind(1, 1, 0, undefined, 10_000);
    expect(bench.orders).toHaveLength(1);
    bench.probe(2);
    expect(bench.take('ask').filter(({ job }) => job === 2)).toEqual([]);
    bench.end();
    bench.probe(3);
    expect(bench.take('ask')).toMatchObject([{ job: 3 }]);
  });
});

describe('tasks that take less than a CPU', () => {
  const half = { cpu: 0.5 };
  const match = (bench: Bench, job: number, demand: Resources): void =>
    bench.receive(OWNER, { ...run, job, match: job, demand });

  test('share it where the policy packs, and have slots of their own elsewhere', () => {
    const running = (packs: boolean): number => {
      const preset = { ...PRESETS.goshawk, packs };
      const bench = new Bench(1, { cpu: 1 }, { places: 16 }).welcome({ preset });
      for (let job = 1; job <= 3; job++) match(bench, job, half);
      return bench.orders.length;
    };
    expect(running(true)).toBe(2);
    expect(running(false)).toBe(1);
  });

  test('a task that needs no CPU starts beside those that use all of them', () => {
    const bench = new Bench(1, { cpu: 1, gpu: 1 }, { places: 16 }).welcome({ preset: PRESETS.goshawk });
    match(bench, 1, { cpu: 1 });
    match(bench, 2, { cpu: 1 });
    match(bench, 3, { gpu: 1 });
    expect(bench.orders).toHaveLength(2);
    expect(bench.worker.load.busy).toEqual({ long: 0, short: 2 });
  });

  test('the worker reports how many more it may take', () => {
    const bench = new Bench(2, { cpu: 2 }, { places: 32 }).welcome({ preset: PRESETS.goshawk });
    match(bench, 1, half);
    bench.end();
    expect(bench.take('pull').at(-1)).toMatchObject({ free: 32, spare: { cpu: 2 } });
  });
});

describe('a slot that is idle because the first entry does not fit', () => {
  const large = { cpu: 2 };

  /** One slot runs a large task, and the other is idle but too small for the waiting one. */
  function waiting(preset: keyof typeof PRESETS, placed = false): Bench {
    const bench = new Bench(2, large).welcome({ preset: { ...PRESETS[preset] } });
    bench.receive(CENTRAL, { ...PEERS, joined: [SELF, OTHER] });
    const facts = { stage: 0, long: false, demand: large } as const;
    const probe = { type: 'probe', lane: 'normal', sizeMs: 0, requires: undefined, ...facts } as const;
    bench.receive(OWNER, { ...probe, job: 1, long: true });
    bench.bind(1, 1);
    bench.probe(5);
    bench.bind(2, 5);
    const task = { owner: OWNER, task: 3, attempt: 1, estimateMs: 9 };
    if (placed) bench.receive(CENTRAL, { type: 'assign', job: 2, ...facts, ...task });
    else bench.receive(OWNER, { ...probe, job: 2 });
    bench.end(1);
    bench.take('pull');
    return bench;
  }

  test('is offered to central when the probe is cancelled', () => {
    const bench = waiting('goshawk');
    bench.receive(OWNER, { type: 'cancelProbes', job: 2, stage: 0 });
    expect(bench.take('pull')).toMatchObject([{ free: 1 }]);
    bench.receive(OWNER, { type: 'cancelProbes', job: 2, stage: 0 });
    expect(bench.take('pull')).toEqual([]);
  });

  test('is offered to central when the placed task is cancelled', () => {
    const bench = waiting('goshawk', true);
    bench.receive(OWNER, { type: 'cancelTask', job: 2, task: 3, attempt: 1 });
    expect(bench.take('pull')).toMatchObject([{ free: 1 }]);
  });

  test('steals when the probe is cancelled or stolen', () => {
    const cancelled = waiting('hawk');
    cancelled.receive(OWNER, { type: 'cancelProbes', job: 2, stage: 0 });
    expect(cancelled.take('steal')).toHaveLength(1);
    const robbed = waiting('hawk');
    robbed.receive(OWNER, { type: 'nowLong', job: 1, task: 0, attempt: 1 });
    robbed.receive(OTHER, { type: 'steal', round: 1, attributes: undefined });
    expect(robbed.take('steal')).toHaveLength(1);
  });
});

describe('a worker that central has removed, and whose questions owners refuse,', () => {
  /** Steals and is refused as often as possible. @returns number of requests to victims within a second */
  function steal(bench: Bench): number {
    const until = bench.now + 1_000;
    let requests = 0;
    for (; bench.now < until && requests < 1_000; bench.pass(1)) {
      for (let [request] = bench.take('steal'); request !== undefined; [request] = bench.take('steal')) {
        if (++requests === 1_000) break;
        const probe = { owner: OWNER, job: 1, stage: 0, long: false, lane: 'normal', demand: {}, sizeMs: 0 };
        const probes = [{ ...probe, requires: undefined }] as const;
        bench.receive(OTHER, { type: 'stolen', round: request.round, probes } as MessageOf<'stolen'>);
        bench.receive(OWNER, { type: 'none', ask: bench.worker.asks });
      }
    }
    return requests;
  }

  test.each(['backoff', 'never'] as const)(
    'pauses between steals (%s) until it is a member',
    (stealRetry) => {
      const bench = new Bench().welcome({ stealRetry });
      bench.receive(CENTRAL, { ...PEERS, joined: [OTHER] });
      bench.pass(1_000);
      bench.receive(CENTRAL, { type: 'notRegistered' });
      bench.probe(1);
      bench.receive(OWNER, { type: 'none', ask: 1 });
      expect(steal(bench)).toBeLessThan(10);
      bench.welcome({ stealRetry });
      bench.probe(1);
      bench.receive(OWNER, { type: 'none', ask: bench.worker.asks });
      expect(steal(bench)).toBe(1_000);
    },
  );
});

describe('a member of a gang', () => {
  const member = { ...run, gang: { rank: 1, ranks: 2 } };
  const [ref, hosts] = [{ job: 1, task: 0, attempt: 1 }, ['a', 'b']];

  function holding(): Bench {
    const bench = new Bench().welcome({ preset: { ...PRESETS.goshawk } });
    bench.receive(OWNER, member);
    return bench;
  }

  test('has a slot, reports that it is ready until confirmed, and starts at its owner’s request', () => {
    const bench = holding();
    expect(bench.take('gangReady')).toMatchObject([ref]);
    expect(bench.orders).toEqual([]);
    bench.pass(2 * retryMs);
    expect(bench.take('gangReady').length).toBeGreaterThan(0);
    bench.receive(OWNER, { type: 'startGang', ...ref, hosts, port: 9 });
    bench.receive(OWNER, { type: 'startGang', ...ref, hosts, port: 9 });
    const order = { gang: { rank: 1, ranks: 2, hosts, port: 9 } };
    expect(bench.orders).toMatchObject([{ slot: 0, order }]);
  });

  test('that has not started is given back when it is cancelled, and its slot is free', () => {
    const bench = holding();
    bench.receive(OWNER, { type: 'cancelTask', ...ref });
    expect(bench.take('declined')).toMatchObject([{ placed: { task: 0, attempt: 1 } }]);
    expect([bench.kills, bench.worker.load.busy]).toEqual([[], { long: 0, short: 0 }]);
    bench.receive(OWNER, { type: 'startGang', ...ref, hosts, port: 9 });
    expect(bench.orders).toEqual([]);
  });

  test('whose gang does not start within three leases is given back, because its owner may be gone', () => {
    const bench = holding();
    bench.pass(2 * leaseMs);
    expect(bench.take('declined')).toEqual([]);
    bench.pass(2 * leaseMs);
    expect(bench.take('declined')).toMatchObject([{ placed: { task: 0, attempt: 1 } }]);
    expect(bench.worker.load.busy).toEqual({ long: 0, short: 0 });
    bench.take('gangReady');
    bench.pass(2 * retryMs);
    expect(bench.take('gangReady')).toEqual([]);
  });

  test('that has not started is returned when its worker drains or its owner restarts', () => {
    const drained = holding();
    drained.receive(CENTRAL, { type: 'drain', on: true, deadlineMs: undefined });
    expect(drained.take('declined')).toHaveLength(1);
    const resumed = holding();
    resumed.receive(OWNER, {
      type: 'resume',
      previousIncarnations: [],
      audit: 0,
    });
    expect(resumed.take('holding')).toMatchObject([{ tasks: [] }]);
    expect(resumed.worker.load.busy).toEqual({ long: 0, short: 0 });
  });
});

describe('loans of CPUs', () => {
  const matching = { preset: { ...PRESETS.goshawk } };
  const borrowing = { lenders: [1], atMostMs: 5_000 };
  /** A worker with one CPU whose task of match 1 is paused for that of match 2. */
  function lending(timeoutMs?: number): Bench {
    const bench = new Bench(1, { cpu: 1 }, { lends: 2 }).welcome(matching);
    bench.receive(OWNER, { ...run, jobId: 'long', long: true, timeoutMs, demand: NO_RESOURCES });
    bench.worker.taskStarted(0, bench.now);
    bench.now = 1_000;
    const short = { match: 2, job: 2, jobId: 'short', demand: NO_RESOURCES, borrows: borrowing };
    bench.receive(OWNER, { ...run, ...short });
    bench.worker.taskStarted(1, bench.now);
    return bench;
  }
  const end = (bench: Bench, slot: number) => {
    bench.worker.taskEnded(slot, COMPLETED, 100, bench.now);
    bench.worker.checkInvariants();
  };

  test('pause the lender before the borrower starts, and continue it before anything new starts', () => {
    const bench = lending();
    expect([bench.pauses, bench.orders.length]).toEqual([[{ slot: 0, on: true }], 2]);
    expect(bench.take('lent')).toMatchObject([
      { job: 1, to: { job: 'short', task: 0 }, pausedMs: 0 },
      { job: 2, from: [{ job: 'long', task: 0 }] },
    ]);
    expect([bench.worker.load.paused, bench.worker.counters.lentCpuMs]).toEqual([1, 0]);
    bench.now = 3_000;
    end(bench, 1);
    expect([bench.worker.load.paused, bench.worker.counters.lentCpuMs]).toEqual([0, 2_000]);
    expect(bench.pauses).toEqual([
      { slot: 0, on: true },
      { slot: 0, on: false },
    ]);
    const sent = bench.takeAll();
    expect(sent.filter(({ type }) => type === 'lent')).toMatchObject([{ to: undefined, pausedMs: 2_000 }]);
    expect(sent.filter(({ type }) => type === 'pull')).toMatchObject([{ free: 0, runs: [1] }]);
    const [borrower] = sent.filter(({ type }) => type === 'ended');
    bench.now = 4_000;
    end(bench, 0);
    const [lender] = bench.take('ended');
    expect(borrower).toMatchObject({ borrowedFrom: [{ job: 'long', task: 0 }] });
    expect(lender).toMatchObject({ pausedMs: 2_000 });
  });

  test.each<readonly [string, (bench: Bench) => void]>([
    [
      'its owner cancels',
      (bench) => bench.receive(OWNER, { type: 'cancelTask', job: 1, task: 0, attempt: 1 }),
    ],
    ['its owner preempts', (bench) => bench.receive(OWNER, { type: 'evict', job: 1, task: 0, attempt: 1 })],
    ['has reached its time limit', (bench) => bench.worker.wake('taskTimeout', 0, bench.now)],
  ])('is refused by a task that %s: it would not end while it is paused', (_, kill) => {
    const bench = new Bench(1, { cpu: 1 }).welcome(matching);
    bench.receive(OWNER, { ...run, timeoutMs: 500 });
    bench.worker.taskStarted(0, bench.now);
    bench.now = 1_000;
    kill(bench);
    expect(bench.kills).toHaveLength(1);
    bench.receive(OWNER, { ...run, match: 2, job: 2, borrows: borrowing });
    expect([bench.pauses, bench.take('declined').length]).toEqual([[], 1]);
    // The next task in that slot may lend again.
    end(bench, 0);
    bench.receive(OWNER, { ...run, match: 3, job: 3 });
    bench.worker.taskStarted(0, bench.now);
    bench.receive(OWNER, { ...run, match: 4, job: 4, borrows: { ...borrowing, lenders: [3] } });
    expect(bench.pauses).toEqual([{ slot: 0, on: true }]);
  });

  test('of a task that turns out to be long while it is paused', () => {
    const bench = new Bench(1, { cpu: 1 }).welcome(matching);
    bench.receive(OWNER, run);
    bench.receive(OWNER, { ...run, match: 2, job: 2, borrows: borrowing });
    bench.receive(OWNER, { type: 'nowLong', job: 1, task: 0, attempt: 1 });
    end(bench, 1);
    expect(bench.take('pull').at(-1)).toMatchObject({ long: 1 });
  });

  test('of a task that was killed begin once it should have ended, and go on while it is killed again', () => {
    const bench = new Bench(1, { cpu: 1 }, { lends: 2 }).welcome(matching);
    bench.now = 1;
    bench.receive(OWNER, { ...run, long: true });
    bench.worker.taskStarted(0, bench.now);
    const cancel = () => bench.receive(OWNER, { type: 'cancelTask', job: 1, task: 0, attempt: 1 });
    cancel();
    for (let second = 1; second <= 31; second++) {
      bench.now = second * 1_000;
      bench.worker.wake('heartbeat', 0, bench.now);
      if (second < 30) cancel();
      if (second % 10 !== 0) continue;
      bench.receive(OWNER, { ...run, match: 1 + second, job: second, borrows: borrowing });
      expect(bench.take('declined')).toMatchObject([{ job: second }]);
    }
    bench.receive(OWNER, { ...run, match: 50, job: 50, borrows: borrowing });
    expect(bench.orders).toHaveLength(2);
    cancel();
    bench.worker.checkInvariants();
    expect(bench.pauses).toEqual([{ slot: 0, on: true }]);
    end(bench, 0);
    bench.worker.checkInvariants();
    end(bench, 1);
    expect(bench.worker.load.busy).toEqual({ long: 0, short: 0 });
  });

  test('move the time limit of the lender', () => {
    const bench = lending(10_000);
    bench.now = 4_000;
    end(bench, 1);
    bench.now = 12_999;
    bench.worker.wake('taskTimeout', 0, bench.now);
    expect(bench.kills).toEqual([]);
    bench.now = 13_000;
    bench.worker.wake('taskTimeout', 0, bench.now);
    expect(bench.kills).toEqual([{ slot: 0, reason: 'timeout' }]);
  });

  test.each([
    ['borrower', 1, 0],
    ['lender', 0, 1],
  ] as const)(
    'end after their time: both share the CPU, and the end of the %s is reported, although it frees none',
    (_, first, last) => {
      const bench = lending();
      bench.now = 6_000;
      bench.worker.wake('loan', 1, bench.now);
      bench.worker.checkInvariants();
      expect(bench.pauses.at(-1)).toEqual({ slot: 0, on: false });
      const sent = bench.takeAll();
      expect(sent.filter(({ type }) => type === 'lent').at(-1)).toMatchObject({ job: 2, from: [] });
      expect(sent.filter(({ type }) => type === 'pull').at(-1)).toMatchObject({ free: 0, spare: { cpu: 0 } });
      end(bench, first);
      expect(bench.take('pull')).toMatchObject([{ free: 0, runs: [last + 1] }]);
      end(bench, last);
      expect(bench.take('pull')).toMatchObject([{ free: 1, runs: [] }]);
    },
  );

  test('end after their time: another task may use the CPUs of one of both', () => {
    const bench = new Bench(1, { cpu: 1 }, { lends: 2 }).welcome(matching);
    bench.receive(OWNER, { ...run, long: true });
    bench.receive(OWNER, { ...run, match: 2, job: 2, borrows: borrowing });
    for (const { slot } of bench.orders) bench.worker.taskStarted(slot, bench.now);
    bench.worker.wake('loan', 1, bench.now);
    bench.receive(OWNER, { ...run, match: 3, job: 3 });
    expect(bench.take('declined')).toMatchObject([{ job: 3 }]);
    bench.receive(OWNER, { ...run, match: 4, job: 4, borrows: { ...borrowing, lenders: [2] } });
    expect(bench.orders).toHaveLength(3);
    bench.worker.checkInvariants();
    bench.worker.taskStarted(2, bench.now);
    end(bench, 2);
    expect(bench.pauses.slice(-2)).toEqual([
      { slot: 1, on: true },
      { slot: 1, on: false },
    ]);
    bench.worker.checkInvariants();
  });

  test.each([
    ['before', [0, 1]],
    ['after', [1, 0]],
  ])(
    'end %s a slot is announced as free: the worker owes its CPU, and keeps no early task for it',
    (_, order) => {
      const bench = new Bench(2, { cpu: 2 }, { lends: 2 }).welcome({ ...matching, seriesMs: 10 });
      const each = { ...run, demand: NO_RESOURCES };
      bench.receive(OWNER, { ...each, jobId: 'long', long: true });
      bench.receive(OWNER, { ...each, match: 2, job: 2, borrows: borrowing });
      bench.receive(OWNER, { ...each, match: 3, job: 3, expectedMs: 200 });
      for (const { slot } of bench.orders) bench.worker.taskStarted(slot, bench.now);
      const [, { slot: borrower }, { slot: last }] = bench.orders as [
        unknown,
        { slot: number },
        { slot: number },
      ];
      const steps = [
        () => bench.worker.wake('loan', borrower, bench.now),
        () => bench.worker.wake('ahead', last, bench.now),
      ];
      for (const step of order) steps[step]!();
      bench.worker.checkInvariants();
      bench.takeAll();
      bench.receive(OWNER, { ...each, match: 4, job: 4 });
      end(bench, last);
      const sent = bench.takeAll();
      expect(sent.filter(({ type }) => type === 'declined')).toMatchObject([{ job: 4 }]);
      expect(sent.filter(({ type }) => type === 'pull').at(-1)).toMatchObject({ free: 0, runs: [1, 2] });
      end(bench, borrower);
      expect(bench.take('pull').at(-1)).toMatchObject({ free: 1, runs: [1] });
    },
  );

  test.each([
    ['end after their time', (bench: Bench) => bench.worker.wake('loan', 1, bench.now)],
    ['end with the lender', () => {}],
  ])('%s: the lender asks for no other task of its series', (_, endsLoan) => {
    const bench = new Bench(1, { cpu: 1 }).welcome({ ...matching, seriesMs: 60_000 });
    bench.receive(OWNER, run);
    bench.worker.taskStarted(0, bench.now);
    bench.receive(OWNER, { ...run, match: 2, job: 2, borrows: borrowing });
    bench.worker.taskStarted(1, bench.now);
    bench.now = 6_000;
    endsLoan(bench);
    end(bench, 0);
    expect(bench.take('ended')).toMatchObject([{ ask: 0 }]);
    end(bench, 1);
    expect(bench.take('pull').at(-1)).toMatchObject({ free: 1 });
  });

  test('end with the lender, whose CPU the borrower keeps', () => {
    const bench = lending();
    bench.takeAll();
    bench.receive(OWNER, { type: 'cancelTask', job: 1, task: 0, attempt: 1 });
    expect(bench.kills).toEqual([{ slot: 0, reason: 'cancelled' }]);
    end(bench, 0);
    expect(bench.take('pull')).toMatchObject([{ free: 0, runs: [2] }]);
    end(bench, 1);
    expect([bench.pauses.length, bench.take('pull')]).toMatchObject([1, [{ free: 1 }]]);
  });

  test('end when the lender is told to end: until it has, it uses a CPU beside its borrower, and nothing starts', () => {
    const bench = new Bench(2, { cpu: 2 }).welcome({ ...matching, seriesMs: 60_000 });
    bench.receive(OWNER, { ...run, jobId: 'long', long: true });
    bench.receive(OWNER, { ...run, match: 2, job: 2 });
    for (const slot of [0, 1]) bench.worker.taskStarted(slot, bench.now);
    end(bench, 1);
    const { ask } = bench.take('ended')[0]!;
    bench.receive(OWNER, { ...run, match: 3, job: 3, borrows: borrowing });
    expect(bench.pauses).toEqual([{ slot: 0, on: true }]);
    bench.receive(OWNER, { type: 'cancelTask', job: 1, task: 0, attempt: 1 });
    bench.worker.checkInvariants();
    expect(bench.worker.load.paused).toBe(0);
    expect(bench.take('lent').slice(-2)).toMatchObject([
      { job: 3, from: [] },
      { job: 1, to: undefined },
    ]);
    const { length } = bench.orders;
    bench.receive(OWNER, { ...run, job: 2, match: 0, ask, task: 1 });
    expect([bench.orders.length - length, bench.take('declined').length]).toEqual([0, 1]);
    end(bench, 0);
    expect(bench.take('pull').at(-1)).toMatchObject({ free: 1 });
  });

  test('are declined if the lender has ended and its CPU has another task, or is paused already', () => {
    const bench = lending();
    bench.receive(OWNER, { ...run, match: 3, job: 3, borrows: borrowing });
    bench.receive(OWNER, { ...run, match: 4, job: 4, borrows: { lenders: [2, 77], atMostMs: 1 } });
    expect(bench.take('declined')).toHaveLength(2);
    expect(bench.orders).toHaveLength(2);
  });

  test('are declined if the lender is paused for another task, even if a slot is free', () => {
    const bench = new Bench(2, { cpu: 2 }).welcome(matching);
    for (const match of [1, 2]) bench.receive(OWNER, { ...run, match, job: match, long: true });
    bench.receive(OWNER, { ...run, match: 3, job: 3, borrows: borrowing });
    bench.receive(OWNER, { ...run, match: 4, job: 4, borrows: borrowing });
    bench.worker.checkInvariants();
    expect(bench.take('declined')).toMatchObject([{ job: 4 }]);
    expect(bench.orders).toHaveLength(3);
  });

  test('are known to a new central and to the owners', () => {
    const bench = lending();
    bench.now = 2_000;
    bench.receive(OWNER, { type: 'resume', previousIncarnations: [], audit: 1 });
    expect(bench.take('holding')[0]!.tasks).toMatchObject([
      { job: 1, pausedMs: 1_000, lentTo: { job: 'short', task: 0 } },
      { job: 2 },
    ]);
    bench.receive(CENTRAL, { type: 'notRegistered' });
    expect(bench.take('register')[0]!.runs).toMatchObject([{ match: 1, pausedMs: 1_000 }, { lenders: [1] }]);
  });

  describe('with a parent', () => {
    const parent = { job: 'j1', task: 0 };
    /** A worker with one CPU that runs a chain of tasks, each of which has submitted the job of the next one. */
    function chain(depth: number, timeoutMs?: number): Bench {
      const bench = new Bench(1, { cpu: 1 }, { lends: 8 }).welcome(matching);
      bench.receive(OWNER, { ...run, timeoutMs, demand: NO_RESOURCES });
      bench.worker.taskStarted(0, bench.now);
      for (let match = 2; match <= depth; match++) {
        bench.now += 100;
        const borrows = { lenders: [match - 1], parent: { job: `j${match - 1}`, task: 0 } };
        const child = { match, job: match, jobId: `j${match}`, demand: NO_RESOURCES, borrows };
        bench.receive(OWNER, { ...run, ...child });
        bench.worker.taskStarted(match - 1, bench.now);
      }
      return bench;
    }

    test('leave it running, with its time limit, while the child uses its CPU', () => {
      const bench = chain(2, 5_000);
      expect([bench.orders.length, bench.pauses, bench.worker.load.paused]).toEqual([2, [], 0]);
      expect(bench.take('lent')).toMatchObject([
        { job: 1, to: { job: 'j2', task: 0 }, toChild: true, pausedMs: 0 },
        { job: 2, from: [parent], fromParent: true },
      ]);
      bench.now = 5_000;
      bench.worker.wake('taskTimeout', 0, bench.now);
      expect(bench.kills).toEqual([{ slot: 0, reason: 'timeout' }]);
    });

    test('end with the child, which leaves no pause in the run time of the parent', () => {
      const bench = chain(2);
      bench.now = 4_000;
      end(bench, 1);
      expect(bench.worker.counters.lentCpuMs).toBe(0);
      expect(bench.take('ended')).toMatchObject([{ job: 2, borrowedFrom: [parent], fromParent: true }]);
      bench.receive(CENTRAL, { type: 'notRegistered' });
      const [held] = bench.take('register')[0]!.runs;
      expect([held!.match, held!.pausedMs]).toEqual([1, undefined]);
      end(bench, 0);
      expect(bench.take('ended')[0]!.pausedMs).toBeUndefined();
    });

    test('nest: each task of a chain may end first, and the CPU is free after the last one', () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 2, max: 8 }),
          fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
          (depth, draws) => {
            const bench = chain(depth);
            expect(bench.orders).toHaveLength(depth);
            const slots = Array.from({ length: depth }, (_, slot) => slot);
            while (slots.length > 0) {
              const [slot] = slots.splice(draws[slots.length - 1]! % slots.length, 1);
              const job = bench.orders.find((each) => each.slot === slot)!.order.jobId;
              const task = { job: Number(job.slice(1)), task: 0, attempt: 1 };
              if (draws[0]! % 2 === 0) bench.receive(OWNER, { type: 'cancelTask', ...task });
              end(bench, slot!);
            }
            expect(bench.take('pull').at(-1)).toMatchObject({ free: 1, runs: [] });
          },
        ),
      );
    });

    test('are declined if the slot has another task now: it did not submit the job', () => {
      const bench = chain(1);
      const borrows = { lenders: [1], parent: { job: 'j1', task: 7 } };
      bench.receive(OWNER, { ...run, match: 2, job: 2, borrows });
      bench.receive(OWNER, { ...run, match: 3, job: 3, borrows: { lenders: [99], parent } });
      expect([bench.orders.length, bench.take('declined').length]).toEqual([1, 2]);
    });

    test('are known to a new central and to the owners', () => {
      const bench = chain(3);
      bench.receive(OWNER, { type: 'resume', previousIncarnations: [], audit: 1 });
      expect(bench.take('holding')[0]!.tasks).toMatchObject([
        { job: 1, pausedMs: 0, lentTo: { job: 'j2', task: 0 }, toChild: true },
        { job: 2, lentTo: { job: 'j3', task: 0 }, borrowedFrom: [parent], toChild: true, fromParent: true },
        { job: 3, borrowedFrom: [{ job: 'j2', task: 0 }], fromParent: true },
      ]);
      bench.receive(CENTRAL, { type: 'notRegistered' });
      expect(bench.take('register')[0]!.runs).toMatchObject([
        { match: 1 },
        { match: 2, lenders: [1], shares: true },
        { match: 3, lenders: [2], shares: true },
      ]);
    });

    test('are given also while tasks share a CPU whose loan has ended', () => {
      const bench = lending();
      bench.worker.wake('loan', 1, bench.now);
      const child = { ...run, match: 3, job: 3, demand: NO_RESOURCES };
      bench.receive(OWNER, { ...child, borrows: { lenders: [2], parent: { job: 'short', task: 0 } } });
      expect([bench.orders.length, bench.take('declined').length]).toEqual([3, 0]);
    });
  });
});
