import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type Address,
  type Environment,
  InvariantError,
  invariant,
  type Machine,
  type Message,
  type Right,
  type Role,
  sumOf,
} from '@goshawk/core';
import { Codec, Directory, type Logger, SILENT_LOGGER } from '@goshawk/transport';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Post } from './contract.js';
import { Host, type HostOptions } from './host.js';

const names = new Directory();
const PEER = names.intern('tcp://127.0.0.1:7001!there/0');
const codec = new Codec(names);

/** A mailbox that records sent messages, and delivers the messages of the test. */
class TestPost implements Post {
  readonly sent: { from: number; to: Address; message: Message }[] = [];
  readonly #deliver = new Map<number, (from: Address, body: unknown) => void>();

  register(index: number, deliver: (from: Address, body: unknown) => void): void {
    this.#deliver.set(index, deliver);
  }

  unregister(index: number): void {
    this.#deliver.delete(index);
  }

  get parties(): number {
    return this.#deliver.size;
  }

  send(from: number, to: Address, body: readonly unknown[]): void {
    this.sent.push({ from, to, message: codec.decode(body) });
  }

  arrive(index: number, message: Message, from: Address = PEER): void {
    this.arriveRaw(index, codec.encode(message), from);
  }

  arriveRaw(index: number, body: unknown, from: Address = PEER): void {
    this.#deliver.get(index)?.(from, body);
  }
}

/** Records its inputs, and reacts as the test requires. */
class Recorder implements Machine {
  readonly seen: string[] = [];
  readonly environment: Environment;
  isSound = true;
  on: (what: string, now: number) => void = () => {};

  constructor(environment: Environment) {
    this.environment = environment;
  }

  start(now: number): void {
    this.#note('start', now);
  }

  receive(from: Address, message: Message, now: number): void {
    this.#note(`${message.type} from ${this.environment.nameOf(from)}`, now);
  }

  wake(timer: string, key: number, now: number): void {
    this.#note(`${timer}/${key}`, now);
  }

  disconnected(from: Address, now: number): void {
    this.#note(`disconnected from ${this.environment.nameOf(from)}`, now);
  }

  triggered(now: number): void {
    this.#note('poked', now);
  }

  checkInvariants(): void {
    invariant(this.isSound, 'two and two are five');
  }

  #note(what: string, now: number): void {
    this.seen.push(`${now} ${what}`);
    this.on(what, now);
    this.seen.push(`${what} done`);
  }
}

function setUp(options: Partial<HostOptions> = {}) {
  let now = 0;
  const post = new TestPost();
  const fatal: InvariantError[] = [];
  const warnings: { fields: object; message: string }[] = [];
  const logger: Logger = {
    ...SILENT_LOGGER,
    warn: (fields, message) => warnings.push({ fields, message }),
  };
  const host = new Host({
    mailbox: post,
    names,
    seed: 7,
    logger,
    clock: () => now,
    onFatal: (error) => fatal.push(error),
    ...options,
  });
  const add = (name: string, index = 0, role: Role = 'central') =>
    host.add({ index, name, role }, (environment) => new Recorder(environment));
  const setNow = (value: number) => {
    now = value;
  };
  return { host, post, fatal, warnings, add, setNow };
}

const HEARTBEAT: Message = { type: 'heartbeat', busy: 1, queued: 2, used: undefined };
const ACK: Message = {
  type: 'heartbeatAck',
  version: 1,
  ownersVersion: 0,
  matching: true,
  waiting: undefined,
};
const HEARTBEAT_CODE = codec.encode(HEARTBEAT)[0];
const PEER_NAME = names.nameOf(PEER);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('inputs of a machine', () => {
  test('it is started, receives messages, and sends messages', () => {
    const { post, add, setNow } = setUp();
    const { machine } = add('central');
    machine.on = () => machine.environment.send(PEER, ACK);
    setNow(5);
    post.arrive(0, HEARTBEAT);
    expect(machine.seen).toEqual([
      '0 start',
      'start done',
      `5 heartbeat from ${PEER_NAME}`,
      `heartbeat from ${PEER_NAME} done`,
    ]);
    expect(post.sent).toEqual([{ from: 0, to: PEER, message: ACK }]);
  });

  test('it is woken by its timers, not before their time', () => {
    const { host, add } = setUp({ clock: () => performance.now() });
    const start = host.now();
    const one = add('one', 1).machine;
    const two = add('two', 2).machine;
    one.environment.setTimer('sweep', 3, start + 1_000);
    two.environment.setTimer('sweep', 3, start + 2_000);
    two.environment.setTimer('sweep', 4, start + 3_000);
    two.environment.clearTimer('sweep', 4);
    vi.advanceTimersByTime(10_000);
    expect(one.seen.slice(2)).toEqual([`${start + 1_000} sweep/3`, 'sweep/3 done']);
    expect(two.seen.slice(2)).toEqual([`${start + 2_000} sweep/3`, 'sweep/3 done']);
  });

  test('other entries of the machine work the same way', () => {
    const { add, setNow } = setUp();
    const { machine, enter } = add('central');
    setNow(3);
    enter('poke', (recorder, now) => recorder.triggered(now));
    expect(machine.seen.slice(2)).toEqual(['3 poked', 'poked done']);
  });

  test('a broken connection is reported to all of its machines', () => {
    const { host, add } = setUp();
    const machines = [add('one', 1).machine, add('two', 2).machine];
    host.disconnected([PEER]);
    for (const { seen } of machines) expect(seen[2]).toBe(`0 disconnected from ${PEER_NAME}`);
  });

  test('one at a time: inputs that arrive during a step wait, in order', () => {
    const { post, add } = setUp();
    const other = add('other', 1);
    const { machine, enter } = add('central', 0);
    machine.on = (what) => {
      if (what !== 'poked') return;
      post.arrive(0, HEARTBEAT);
      other.enter('poke', (recorder, now) => recorder.triggered(now));
      expect(other.machine.seen).toHaveLength(2);
    };
    enter('poke', (recorder, now) => recorder.triggered(now));
    const heartbeat = `heartbeat from ${PEER_NAME}`;
    expect(machine.seen.slice(2)).toEqual(['0 poked', 'poked done', `0 ${heartbeat}`, `${heartbeat} done`]);
    expect(other.machine.seen.slice(2)).toEqual(['0 poked', 'poked done']);
  });

  test('its random numbers follow from the seed and its name', () => {
    const draw = (seed: number, name: string) => {
      const { random } = setUp({ seed }).add(name).machine.environment;
      return [random(), random()];
    };
    expect(draw(7, 'worker-1')).toEqual(draw(7, 'worker-1'));
    expect(draw(7, 'worker-1')).not.toEqual(draw(7, 'worker-2'));
    expect(draw(7, 'worker-1')).not.toEqual(draw(8, 'worker-1'));
  });

  test('none after it was removed, and its counters stay', () => {
    const { host, post, add } = setUp();
    add('own', 0);
    const other = add('other', 1);
    post.arrive(0, HEARTBEAT);
    post.arrive(1, HEARTBEAT);
    post.arriveRaw(1, [1, 2, 3]);
    other.remove();
    const all = Object.values(host.counters());
    expect(sumOf(all, ({ received }) => received.heartbeat ?? 0)).toBe(2);
    expect(sumOf(all, ({ refused }) => refused)).toBe(1);
  });

  test('none after it was removed, and its host releases it', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { host, post, add } = setUp();
    const removed = (): WeakRef<Recorder> => {
      const { machine, enter, remove } = add('a');
      enter('set a timer', () => machine.environment.setTimer('month', 1, 30 * 86_400_000));
      remove();
      machine.environment.setTimer('month', 2, 30 * 86_400_000);
      enter('poked', (gone, now) => gone.triggered(now));
      expect(machine.seen).toEqual(['0 start', 'start done']);
      return new WeakRef(machine);
    };
    const machine = removed();
    expect(post.parties).toBe(0);
    add('another');
    await expect
      .poll(() => {
        collect();
        return machine.deref() === undefined;
      })
      .toBe(true);
    host.close();
  });

  test('none after its host was closed', () => {
    const { host, post, add } = setUp({ clock: () => performance.now() });
    const { machine, enter } = add('central');
    machine.environment.setTimer('sweep', 0, 10);
    host.close();
    machine.environment.setTimer('sweep', 1, 10);
    post.arrive(0, HEARTBEAT);
    enter('poke', (recorder, now) => recorder.triggered(now));
    vi.advanceTimersByTime(1_000);
    expect(machine.seen).toHaveLength(2);
  });
});

describe('an invalid message from a peer', () => {
  test('is counted and dropped, and later messages arrive', () => {
    const { host, post, add } = setUp();
    const { machine } = add('central');
    post.arriveRaw(0, 'nonsense');
    post.arriveRaw(0, [HEARTBEAT_CODE, -1, 0]);
    post.arrive(0, HEARTBEAT);
    expect(machine.seen.slice(2)).toHaveLength(2);
    expect(host.counters().central).toMatchObject({ refused: 2, received: { heartbeat: 1 } });
  });

  test('is logged at intervals per peer, with the invalid field', () => {
    const { post, add, warnings } = setUp();
    add('central');
    const other = names.intern('tcp://127.0.0.1:7002!other/0');
    for (let i = 0; i < 100; i++) post.arriveRaw(0, [HEARTBEAT_CODE, 'many', 0]);
    post.arriveRaw(0, [HEARTBEAT_CODE, 'many', 0], other);
    expect(warnings.map(({ fields }) => fields)).toMatchObject([
      {
        peer: PEER_NAME,
        party: 'central',
        problem: 'heartbeat.busy: expected a whole number of at least 0, got text',
        heldBack: 0,
      },
      { peer: names.nameOf(other), heldBack: 0 },
    ]);
    vi.advanceTimersByTime(10_000);
    post.arriveRaw(0, [HEARTBEAT_CODE, 'many', 0]);
    expect(warnings[2]?.fields).toMatchObject({ peer: PEER_NAME, heldBack: 99 });
  });

  test('includes types that this sender may not send, or not to this receiver', () => {
    const { host, post, add, warnings } = setUp({
      roleOf: (party) => (party === PEER ? 'client' : undefined),
    });
    const { machine } = add('central');
    const stranger = names.intern('tcp://127.0.0.1:7003!stranger/0');
    post.arrive(0, HEARTBEAT);
    post.arrive(0, ACK, stranger);
    expect(machine.seen).toHaveLength(2);
    expect(host.counters().central).toMatchObject({ refused: 2, received: {} });
    expect(warnings.map(({ fields }) => fields)).toMatchObject([
      { problem: 'heartbeat: a client may not send it, only a worker or a scheduler' },
      { problem: 'heartbeatAck: it may not be sent to a central, only to a worker or a scheduler' },
    ]);
    post.arrive(0, HEARTBEAT, stranger);
    expect(machine.seen).toHaveLength(4);
  });
});

describe('a client with a personal key', () => {
  test('is refused requests that the key does not permit, without a step of the machine', () => {
    let rights: Right[] = ['submit'];
    const { post, add } = setUp({
      roleOf: (party) => (party === PEER ? 'client' : undefined),
      clientKeyOf: (party) => (party === PEER ? { name: 'ci', rights } : undefined),
    });
    const { machine } = add('central');
    const drain = { type: 'drainWorker', request: 7, worker: 'w0', on: true, deadlineMs: undefined } as const;
    post.arrive(0, drain);
    expect(machine.seen).toHaveLength(2);
    expect(post.sent).toMatchObject([{ message: { type: 'refused', request: 7, code: 'not-allowed' } }]);
    rights = ['operate'];
    post.arrive(0, drain);
    expect(machine.seen).toHaveLength(4);
  });
});

describe('a process whose key is bound to a name', () => {
  test('joins under that name only; a taken-over journal keeps the name of its former owner', () => {
    const { host, post, add, warnings } = setUp({
      permitsName: (_, name) => name === 'w7' || name === 's0',
    });
    const { machine } = add('central');
    const register = { slots: 1, capacity: {}, draining: false, http: undefined, runs: [], attributes: [] };
    const enlist = { tag: 'abc', endpoint: '', durable: true, draining: false, http: undefined, epoch: 1 };
    const rest = { ...enlist, previousIncarnations: [] };
    const join = (message: object) => post.arrive(0, message as Message);
    join({ type: 'register', name: 'w8', ...register });
    join({ type: 'enlist', name: 's1', adopted: false, ...rest });
    join({ type: 'enlist', name: 's1', adopted: true, ...rest });
    join({ type: 'enlist', name: 's1/abcd', adopted: true, ...rest });
    const seen = machine.seen.length;
    expect(host.counters().central).toMatchObject({ refused: 4 });
    expect(warnings[0]).toMatchObject({ fields: { name: 'w8' } });
    join({ type: 'register', name: 'w7', ...register });
    join({ type: 'enlist', name: 's0', adopted: false, ...rest });
    join({ type: 'enlist', name: 's1/abc', adopted: true, ...rest });
    expect(machine.seen.length).toBeGreaterThan(seen);
    expect(host.counters().central).toMatchObject({ refused: 4, received: { register: 2, enlist: 5 } });
  });
});

test('a worker whose key does not permit its attributes or size does not join, and the log says why', () => {
  const { host, post, add, warnings } = setUp({
    claimsProblem: (_, { capacity }) =>
      capacity.cpu === 4_096 ? 'its key permits at most cpu 16' : undefined,
  });
  const { machine } = add('central');
  const rest = { slots: 1, draining: false, http: undefined, runs: [], attributes: [] };
  const register = (cpu: number) =>
    post.arrive(0, { type: 'register', name: 'evil', capacity: { cpu }, ...rest } as unknown as Message);
  const before = machine.seen.length;
  register(4_096);
  expect(machine.seen).toHaveLength(before);
  expect(host.counters().central).toMatchObject({ refused: 1 });
  expect(warnings[0]).toMatchObject({ fields: { name: 'evil' } });
  expect(JSON.stringify(warnings[0])).toContain('its key permits at most cpu 16');
  register(16);
  expect(machine.seen.length).toBeGreaterThan(before);
});

describe('an invalid message from a machine', () => {
  test('is counted, logged and dropped; the machine continues', () => {
    const { host, post, add, fatal, warnings } = setUp();
    const { machine, enter } = add('central');
    machine.on = () => {
      machine.environment.send(PEER, {
        type: 'refused',
        request: 1,
        code: 'x',
        message: 'm'.repeat(5_000),
        hint: '',
        retryMs: undefined,
      });
      machine.environment.send(PEER, HEARTBEAT);
      machine.environment.send(PEER, ACK);
    };
    enter('poke', (recorder, now) => recorder.triggered(now));
    expect(post.sent.map(({ message }) => message)).toEqual([ACK]);
    expect(fatal).toEqual([]);
    expect(host.counters().central).toMatchObject({ unsendable: 2, sent: { heartbeatAck: 1 } });
    expect(warnings[0]?.fields).toMatchObject({
      party: 'central',
      problem: 'refused.message: 5000 characters are more than 4096',
    });
  });
});

describe('a message on which a machine throws', () => {
  const SUBMIT: Message = { type: 'submit', request: 8, key: 'k', spec: { tasks: [] } };

  function setUpThrowing() {
    const errors: { fields: object; message: string }[] = [];
    const logger: Logger = {
      ...SILENT_LOGGER,
      error: (fields, message) => errors.push({ fields, message }),
    };
    const bench = setUp({ logger });
    const { machine } = bench.add('s0', 0, 'scheduler');
    machine.on = (what) => {
      if (what !== 'poked') (undefined as never as { name: string }).name.trim();
    };
    return { ...bench, machine, errors };
  }

  test('is refused once, with its number in the log, and the machine continues', () => {
    const { host, post, machine, errors, fatal } = setUpThrowing();
    post.arrive(0, SUBMIT);
    expect(post.sent.map(({ to, message }) => [to, message])).toMatchObject([
      [
        PEER,
        {
          type: 'refused',
          request: 8,
          code: 'internal-error',
          message: 's0 failed on this submit: a bug in goshawk',
        },
      ],
    ]);
    const { hint } = post.sent[0]!.message as { hint: string };
    expect(hint).toMatch(/failure 1\b/);
    expect(errors.map(({ fields }) => fields)).toMatchObject([
      { failure: 1, party: 's0', input: expect.stringMatching(/^submit\{/), err: { name: 'TypeError' } },
    ]);
    expect(host.counters().s0).toMatchObject({ failed: 1 });
    expect(fatal).toEqual([]);

    machine.on = () => {};
    post.arrive(0, SUBMIT);
    expect(machine.seen.at(-1)).toBe(`submit from ${PEER_NAME} done`);
  });

  test('is dropped and counted if its sender expects no answer', () => {
    const { host, post, fatal } = setUpThrowing();
    post.arrive(0, ACK);
    host.disconnected([PEER]);
    expect(post.sent).toEqual([]);
    expect(host.counters().s0).toMatchObject({ failed: 2 });
    expect(fatal).toEqual([]);
  });

  test('repeatedly has one number and few log lines', () => {
    const { post, errors } = setUpThrowing();
    for (let i = 0; i < 100; i++) post.arrive(0, SUBMIT);
    post.arrive(0, {
      ...SUBMIT,
      type: 'retryJob',
      id: 's-1',
      failedOnly: undefined,
      tasks: undefined,
      asNew: undefined,
    } as Message);
    expect(post.sent.map(({ message }) => (message as { hint: string }).hint.match(/\d+/)![0])).toEqual([
      ...new Array(100).fill('1'),
      '2',
    ]);
    expect(errors).toHaveLength(2);
  });

  test('ends the process if the machine is inconsistent afterwards', () => {
    const { post, machine, fatal } = setUpThrowing();
    machine.isSound = false;
    post.arrive(0, SUBMIT);
    expect(fatal).toHaveLength(1);
    expect(post.sent).toEqual([]);
  });
});

describe('an inconsistent machine', () => {
  test('ends the process: the error is logged with its input, and no machine of the host runs any more', () => {
    const lines: object[] = [];
    const logger: Logger = { ...SILENT_LOGGER, fatal: (fields) => lines.push(fields) };
    const { host, post, add, fatal } = setUp({ logger, clock: () => performance.now() });
    const other = add('other', 1).machine;
    const { machine } = add('central', 0);
    other.environment.setTimer('sweep', 0, host.now() + 10);
    machine.on = () => invariant(false, 'two slots run one task');
    post.arrive(0, HEARTBEAT);
    const input = `heartbeat{busy: 1, queued: 2, used: none, clock: none} from ${PEER_NAME}`;
    expect(lines).toMatchObject([{ party: 'central', input, err: { name: 'InvariantError' } }]);
    expect(fatal).toHaveLength(1);
    expect(fatal[0]).toBeInstanceOf(InvariantError);
    expect(fatal[0]?.message).toBe(`central: ${input}: two slots run one task`);

    post.arrive(0, HEARTBEAT);
    post.arrive(1, HEARTBEAT);
    vi.advanceTimersByTime(1_000);
    expect(other.seen).toHaveLength(2);
    expect(fatal).toHaveLength(1);
  });

  test('any error counts, from any entry', () => {
    const { add, fatal } = setUp();
    const { enter } = add('central');
    enter('taskEnded in slot 3', () => {
      (undefined as never as { x: number }).x++;
    });
    expect(fatal[0]?.message).toMatch(/^central: taskEnded in slot 3: Cannot read properties of undefined/);
    expect(fatal[0]?.cause).toBeInstanceOf(TypeError);
  });

  test('a timer with an invalid time counts', () => {
    const { add, fatal } = setUp();
    const { machine, enter } = add('central');
    enter('poke', () => machine.environment.setTimer('sweep', 0, Number.NaN));
    expect(fatal[0]?.message).toBe('central: poke: timer sweep/0 was set to an invalid time');
  });
});

describe('data for diagnostics', () => {
  test('counters of each machine, by type, as plain objects', () => {
    const { host, post, add } = setUp();
    const { machine } = add('central', 0);
    add('idle', 1);
    machine.on = () => machine.environment.send(PEER, ACK);
    post.arrive(0, HEARTBEAT);
    post.arrive(0, HEARTBEAT);
    const nothing = { sent: {}, received: {}, refused: 0, unsendable: 0, failed: 0, wakes: 0 };
    expect(JSON.parse(JSON.stringify(host.counters()))).toEqual({
      central: { ...nothing, sent: { heartbeatAck: 2 }, received: { heartbeat: 2 } },
      idle: nothing,
    });
    // The machine can read its own counters, to answer requests for them.
    expect(machine.environment.counted?.()).toEqual({ messages: host.counters().central });
  });

  test('names of parties, including forgotten ones', () => {
    const { environment } = setUp().add('central').machine;
    expect(environment.nameOf(PEER)).toBe(PEER_NAME);
    expect(environment.nameOf(999 as Address)).toBe('forgotten party 999');
  });

  test('a pino logger is a logger', () => {
    const lines: string[] = [];
    const logger: Logger = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });
    logger.child({ party: 'central' }).warn({ peer: 1 }, 'hello');
    expect(lines).toEqual(['{"level":40,"party":"central","peer":1,"msg":"hello"}\n']);
  });
});
