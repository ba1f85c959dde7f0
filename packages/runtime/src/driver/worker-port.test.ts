import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type Address,
  type InvariantError,
  type KillReason,
  type Message,
  NO_RESOURCES,
  type Outcome,
} from '@goshawk/core';
import type { Executor, Run, RunOrder, Outcome as RunOutcome, RunSink } from '@goshawk/executors';
import { Codec, Directory, SILENT_LOGGER } from '@goshawk/transport';
import { type TaskOrder, Worker, type WorkerEnvironment } from '@goshawk/worker';
import { describe, expect, test } from 'vitest';
import type { Post } from './contract.js';
import { Host } from './host.js';
import { addWorker, type TraceparentOf, type WorkerEntries } from './worker-port.js';

class TestRun implements Run {
  readonly order: RunOrder;
  readonly sink: RunSink;
  readonly kills: KillReason[] = [];

  constructor(order: RunOrder, sink: RunSink) {
    this.order = order;
    this.sink = sink;
  }

  kill(reason: KillReason): void {
    this.kills.push(reason);
  }

  pause(): void {}

  resume(): void {}
}

/** An executor whose runs the test controls. */
class TestExecutor implements Executor {
  readonly runs: TestRun[] = [];

  start(order: RunOrder, sink: RunSink): Run {
    const run = new TestRun(order, sink);
    this.runs.push(run);
    return run;
  }

  async close(): Promise<void> {}
}

/** Records the reports about its tasks. */
class Recorder implements WorkerEntries {
  readonly heard: string[] = [];
  readonly outcomes: Outcome[] = [];
  onEnded: (slot: number) => void = () => {};

  taskStarted(slot: number, now: number): void {
    this.heard.push(`${now} started ${slot}`);
  }

  taskOutput(slot: number, stream: 'stdout' | 'stderr', bytes: Uint8Array, now: number): void {
    this.heard.push(`${now} ${stream} ${slot} ${new TextDecoder().decode(bytes)}`);
  }

  taskEnded(slot: number, outcome: Outcome, runMs: number, now: number): void {
    this.heard.push(`${now} ${outcome.kind} ${slot} after ${runMs}`);
    this.outcomes.push(outcome);
    this.onEnded(slot);
  }

  start(): void {}
  receive(): void {}
  wake(): void {}
  checkInvariants(): void {}
}

const names = new Directory();
const codec = new Codec(names);
const silent: Post = { register: () => {}, unregister: () => {}, send: () => {} };
const IDENTITY = { GOSHAWK_JOB: 'a-1', GOSHAWK_TASK: '0', GOSHAWK_ATTEMPT: '1', GOSHAWK_RUN: 'worker-0/0' };
const order = (payload: unknown) => ({
  payload,
  jobId: 'a-1',
  task: 0,
  attempt: 1,
  long: false,
  timeoutMs: undefined,
  apartMs: undefined,
  expectedMs: undefined,
  execution: undefined,
  inputs: undefined,
  gang: undefined,
  user: undefined,
});
const text = (line: string) => new TextEncoder().encode(line);

function setUp<M extends WorkerEntries>(
  build: (environment: WorkerEnvironment) => M,
  mailbox: Post = silent,
  gpuNames?: string[],
  traceparentOf?: TraceparentOf,
) {
  let now = 0;
  const executor = new TestExecutor();
  const fatal: InvariantError[] = [];
  const host = new Host({
    mailbox,
    names,
    seed: 1,
    logger: SILENT_LOGGER,
    clock: () => now,
    onFatal: (error) => fatal.push(error),
  });
  let environment!: WorkerEnvironment;
  let drained = 0;
  const options = {
    index: 0,
    name: 'worker-0',
    executor,
    gpuNames,
    traceparentOf,
    onDrained: () => drained++,
  };
  const { machine } = addWorker(host, options, (given) => {
    environment = given;
    return build(given);
  });
  const setNow = (value: number) => {
    now = value;
  };
  return { machine, environment, executor, fatal, setNow, drained: () => drained };
}

describe('a task in a slot', () => {
  test('receives the parent span of its spans if tracing is on', () => {
    const traceparentOf = ({ jobId, task, attempt }: TaskOrder) => `span of ${jobId} ${task}/${attempt}`;
    const { environment, executor } = setUp(() => new Recorder(), silent, undefined, traceparentOf);
    environment.execute(2, order({ sleep: 50 }));
    expect(executor.runs[0]!.order.env).toEqual({ ...IDENTITY, TRACEPARENT: 'span of a-1 0/1' });
  });

  test('runs, and the machine learns of its start, its output and its end', () => {
    const { machine, environment, executor, setNow } = setUp(() => new Recorder());
    environment.execute(2, order({ sleep: 50 }));
    expect(executor.runs.map(({ order }) => order)).toMatchObject([
      { payload: { sleep: 50 }, env: IDENTITY },
    ]);
    const { sink } = executor.runs[0]!;
    sink.started?.();
    setNow(10);
    sink.output({ stream: 'stderr', bytes: text('hello') });
    setNow(50);
    sink.ended({ kind: 'completed' }, 49.5);
    expect(machine.heard).toEqual(['0 started 2', '10 stderr 2 hello', '50 completed 2 after 49.5']);
  });

  test('of a gang sees the hosts as programs look them up, IPv6 addresses without brackets', () => {
    const { environment, executor } = setUp(() => new Recorder());
    const gang = { rank: 1, ranks: 2, hosts: ['[fd00::1]', 'node2'], port: 4_000 };
    environment.execute(0, { ...order({ sleep: 1 }), gang });
    expect(executor.runs[0]!.order.env).toMatchObject({
      GOSHAWK_RANK: '1',
      GOSHAWK_HOSTS: 'fd00::1,node2',
      GOSHAWK_MASTER: 'fd00::1:4000',
    });
  });

  test('sees its GPUs, by the names of the worker', () => {
    const { environment, executor } = setUp(() => new Recorder(), silent, ['a', 'b', 'c']);
    environment.execute(0, order({ sleep: 1 }), [0, 2]);
    environment.execute(1, order({ sleep: 1 }), []);
    environment.execute(2, order({ sleep: 1 }));
    expect(executor.runs.map(({ order }) => order.env)).toEqual([
      { ...IDENTITY, GOSHAWK_GPUS: 'a,c', CUDA_VISIBLE_DEVICES: 'a,c' },
      { ...IDENTITY, GOSHAWK_GPUS: '', CUDA_VISIBLE_DEVICES: '' },
      IDENTITY,
    ]);
  });

  test('is killed with the reason of the machine', () => {
    const { environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order({ sleep: 1 }));
    environment.execute(1, order({ sleep: 1 }));
    environment.kill(1, 'timeout');
    environment.kill(7, 'cancelled');
    expect(executor.runs.map(({ kills }) => kills)).toEqual([[], ['timeout']]);
  });

  test('is counted in the CPU and memory in use, which is unknown while a task is not measured', () => {
    const { environment, executor, setNow } = setUp(() => new Recorder());
    expect(environment.used!()).toEqual({ cpuPercent: 0, memory: 0 });
    environment.execute(0, order({ exec: ['x'] }));
    environment.execute(1, { ...order({ exec: ['x'] }), task: 1 });
    const [first, second] = executor.runs as [TestRun, TestRun];
    // Tasks that are too short to be measured are not idle.
    expect(environment.used!()).toBeUndefined();
    first.sink.used!({ cpu: 0.5, memory: 1_000 });
    // The second has just started.
    expect(environment.used!()).toEqual({ cpuPercent: 50, memory: 1_000 });
    setNow(6_000);
    expect(environment.used!()).toBeUndefined();
    second.sink.used!({ cpu: 1.25, memory: 24 });
    expect(environment.used!()).toEqual({ cpuPercent: 175, memory: 1_024 });
    expect(environment.counted!().used).toEqual({
      'a-1/0': { cpu: 0.5, memory: 1_000 },
      'a-1/1': { cpu: 1.25, memory: 24 },
    });
    first.sink.ended({ kind: 'completed' }, 1);
    expect(environment.used!()).toEqual({ cpuPercent: 125, memory: 24 });
  });

  test('is ignored once its slot belongs to another task', () => {
    const { machine, environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order({ sleep: 1 }));
    environment.execute(0, order({ sleep: 2 }));
    const [first, second] = executor.runs as [TestRun, TestRun];
    expect(first.kills).toEqual(['cancelled']);
    first.sink.output({ stream: 'stdout', bytes: text('late') });
    first.sink.ended({ kind: 'completed' }, 1);
    expect(machine.heard).toEqual([]);
    second.sink.ended({ kind: 'completed' }, 2);
    second.sink.output({ stream: 'stdout', bytes: text('late') });
    expect(machine.heard).toEqual(['0 completed 0 after 2']);
    environment.kill(0, 'cancelled');
    expect(second.kills).toEqual([]);
  });

  test('may be followed immediately by the next one, during its end', () => {
    const { machine, environment, executor } = setUp(() => new Recorder());
    machine.onEnded = (slot) => {
      if (executor.runs.length < 2) environment.execute(slot, order({ sleep: 2 }));
    };
    environment.execute(0, order({ sleep: 1 }));
    executor.runs[0]!.sink.ended({ kind: 'completed' }, 1);
    expect(executor.runs[0]!.kills).toEqual([]);
    executor.runs[1]!.sink.ended({ kind: 'completed' }, 2);
    expect(machine.heard).toEqual(['0 completed 0 after 1', '0 completed 0 after 2']);
  });
});

describe('a command that returns a value', () => {
  function endWith(write: (file: string) => void, outcome: RunOutcome = { kind: 'completed', exitCode: 0 }) {
    const { machine, environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order({ exec: ['x'], returns: true }));
    const { order: given, sink } = executor.runs[0]!;
    const file = given.env.GOSHAWK_RESULT!;
    write(file);
    sink.ended(outcome, 1);
    expect(existsSync(dirname(file))).toBe(false);
    return machine.outcomes[0];
  }

  test('has the JSON that it wrote as its value, and leaves no file', () => {
    const outcome = endWith((file) => writeFileSync(file, '{"n": [1, null]}'));
    expect(outcome).toMatchObject({ kind: 'completed', exitCode: 0, value: { n: [1, null] } });
  });

  test('may write a byte order mark', () => {
    expect(endWith((file) => writeFileSync(file, '\ufeff[1]'))).toMatchObject({
      kind: 'completed',
      value: [1],
    });
  });

  test('has no value if it wrote none', () => {
    const outcome = endWith(() => {});
    expect(outcome).toMatchObject({ kind: 'completed', value: undefined });
  });

  test.each([
    ['no JSON', '{', 'result-not-serialisable', 'left no JSON in GOSHAWK_RESULT'],
    ['nothing', '', 'result-not-serialisable', 'left no JSON'],
    ['too much', `"${'x'.repeat(256 * 1024)}"`, 'result-too-large', 'write it to a file'],
    ['other bytes', Buffer.from([0x22, 0xff, 0x22]), 'result-not-serialisable', 'it is not valid UTF-8'],
    ['half of a character', '{"a": ["\\ud800"]}', 'result-not-serialisable', 'a[0]: half of a character'],
    ['an infinite number', '{"n": 1e999}', 'result-not-serialisable', 'n: Infinity'],
  ])('fails if it wrote %s', (_, text, errorCode, message) => {
    const outcome = endWith((file) => writeFileSync(file, text));
    expect(outcome).toMatchObject({
      kind: 'failed',
      errorCode,
      errorMessage: expect.stringContaining(message),
    });
  });

  test.each<[string, (file: string) => void, string]>([
    ['a folder', (file) => mkdirSync(file), 'it is not a file'],
    ['a link', (file) => symlinkSync('/etc/passwd', file), 'it is a link to another file'],
  ])('fails if it left %s', async (_, make, message) => {
    const { machine, environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order({ exec: ['x'], returns: true }));
    const { order: given, sink } = executor.runs[0]!;
    const file = given.env.GOSHAWK_RESULT!;
    make(file);
    sink.ended({ kind: 'completed', exitCode: 0 }, 1);
    expect(machine.outcomes[0]).toMatchObject({
      kind: 'failed',
      errorMessage: `the command left no JSON in GOSHAWK_RESULT: ${message}`,
    });
    await expect.poll(() => existsSync(dirname(file)), { timeout: 30_000 }).toBe(false);
  });

  test.each([
    ['gives a reason', '{"error": "ValueError: no such rate"}', 'ValueError: no such rate'],
    ['gives a reason in another form', '["error"]', 'ended with exit code 3'],
    ['writes no JSON', '{', 'ended with exit code 3'],
  ])('that fails and %s has the message: %s', (_, text, errorMessage) => {
    const error = { code: 'exit-code', message: 'ended with exit code 3' } as const;
    const outcome = endWith((file) => writeFileSync(file, text), { kind: 'failed', error, exitCode: 3 });
    expect(outcome).toMatchObject({ kind: 'failed', errorCode: 'exit-code', errorMessage, exitCode: 3 });
  });

  test('cannot make the worker read or remove another folder in place of its own', async () => {
    const { machine, environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order({ exec: ['x'], returns: true }));
    const { order: given, sink } = executor.runs[0]!;
    const folder = dirname(given.env.GOSHAWK_RESULT!);
    const secret = mkdtempSync(join(tmpdir(), 'goshawk-secret-'));
    try {
      writeFileSync(join(secret, 'result.json'), '"of another task"');
      renameSync(folder, join(secret, 'moved'));
      symlinkSync(secret, folder);
      sink.ended({ kind: 'completed', exitCode: 0 }, 1);
      expect(machine.outcomes[0]).toMatchObject({ kind: 'failed', errorCode: 'result-not-serialisable' });
      await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
      expect(readdirSync(secret)).toEqual(['moved', 'result.json']);
    } finally {
      rmSync(secret, { recursive: true });
    }
  });

  test('leaves no other files in its folder', async () => {
    const { environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order({ exec: ['x'], returns: true }));
    const { order: given, sink } = executor.runs[0]!;
    const folder = dirname(given.env.GOSHAWK_RESULT!);
    mkdirSync(join(folder, 'more', 'of', 'them'), { recursive: true });
    sink.ended({ kind: 'completed', exitCode: 0 }, 1);
    await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
  });

  test('gets no file for it unless requested', () => {
    const { environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order({ exec: ['x'] }));
    expect(executor.runs[0]!.order.env).toEqual(IDENTITY);
  });
});

describe('an invalid order', () => {
  test.each<[string, unknown, string]>([
    ['no payload', undefined, 'not a task, which is one of {sleep}, {exec}, {module}'],
    ['a field that there is not', { sleep: 1, often: 2 }, 'unknown field "often"'],
    ['a wrong value', { sleep: -1 }, 'sleep: '],
  ])('is a failed task, never an executor’s: %s', (_, payload, problem) => {
    const { machine, environment, executor } = setUp(() => new Recorder());
    environment.execute(0, order(payload));
    expect(executor.runs).toEqual([]);
    expect(machine.heard).toEqual(['0 failed 0 after 0']);
    expect(machine.outcomes[0]).toMatchObject({ kind: 'failed', errorCode: 'bad-payload' });
    expect(machine.outcomes[0]?.errorMessage).toContain(problem);
  });
});

test('the machine reports when it is drained', () => {
  const { environment, drained } = setUp(() => new Recorder());
  environment.drained();
  expect(drained()).toBe(1);
});

test('the worker machine runs a task through it, and reports its end to the owner', () => {
  const owner = names.intern('tcp://127.0.0.1:7001!owner/0');
  const sent: Message[] = [];
  let deliver: (from: Address, body: unknown) => void = () => {};
  const { executor, fatal } = setUp(
    (environment) =>
      new Worker(
        {
          name: 'worker-0',
          self: names.intern('tcp://127.0.0.1:7000!here/0'),
          slots: 1,
          capacity: NO_RESOURCES,
          central: names.intern('tcp://127.0.0.1:7002!*/0'),
          registerRetryMs: 0,
        },
        environment,
      ),
    {
      register: (_, callback) => {
        deliver = callback;
      },
      unregister: () => {},
      send: (_, to, body) => {
        if (to === owner) sent.push(codec.decode(body));
      },
    },
  );
  const arrive = (message: Message) => deliver(owner, codec.encode(message));
  const facts = { lane: 'normal', demand: NO_RESOURCES, sizeMs: 0, requires: undefined } as const;
  arrive({ type: 'probe', job: 1, stage: 0, long: false, ...facts });
  const [ask] = sent;
  expect(ask).toMatchObject({ type: 'ask', job: 1 });
  arrive({
    type: 'run',
    ask: ask?.type === 'ask' ? ask.ask : -1,
    match: 0,
    job: 1,
    stage: 0,
    task: 4,
    attempt: 0,
    payload: { exec: ['true'] },
    jobId: 'a-1',
    long: false,
    demand: {},
    timeoutMs: undefined,
    apartMs: undefined,
    expectedMs: undefined,
    execution: undefined,
    inputs: undefined,
    gang: undefined,
    user: undefined,
  });
  const { sink } = executor.runs[0]!;
  sink.started?.();
  sink.output({ stream: 'stdout', bytes: text('done') });
  sink.ended({ kind: 'completed', exitCode: 0 }, 12);
  expect(fatal).toEqual([]);
  expect(sent.at(-1)).toMatchObject({
    type: 'ended',
    task: 4,
    runMs: 12,
    outcome: { kind: 'completed', exitCode: 0 },
    output: [{ stream: 'stdout', bytes: text('done') }],
  });
});
