import {
  type Address,
  fits,
  LIMITS,
  MESSAGE_TYPES,
  MESSAGES,
  type Message,
  type MessageOf,
  type MessageType,
  NO_RESOURCES,
  NOBODY,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packFrame } from '../connection/testing.fixture.js';
import { openFrame } from '../frames/frame.js';
import { Directory } from '../identity/directory.js';
import { DEFAULT_LIMITS } from '../limits.js';
import { messageOfType } from './arbitraries.fixture.js';
import { Codec } from './codec.js';
import { DecodeError, EncodeError } from './errors.js';
import { OPEN_DEPTH_MAX, OPEN_NODES_MAX } from './open.js';

const PROCESS = 'tcp://127.0.0.1:7000!V1StGXR8_Z5jdHi6B-myT';
const directory = new Directory();
const addresses = [0, 1, 2].map((index) => directory.intern(`${PROCESS}/${index}`));
const codec = new Codec(directory);

function overTheWire(body: unknown): unknown[] {
  const { mail } = openFrame(packFrame('*', [[0, 1, body]]), DEFAULT_LIMITS);
  return mail[0]?.[2] as unknown[];
}

function bodyOf(message: Message): unknown[] {
  return overTheWire(codec.encode(message));
}

function codeOf(type: MessageType): number {
  return MESSAGE_TYPES.indexOf(type);
}

const expectedCode = `message: expected a code from 0 to ${MESSAGE_TYPES.length - 1}`;

const heartbeat: Message = { type: 'heartbeat', busy: 1, queued: 2, used: undefined };
const probe: Message = {
  type: 'probe',
  job: 1,
  stage: 0,
  long: false,
  lane: 'normal',
  demand: { cpu: 2, memory: 1e9 },
  sizeMs: 3,
  requires: undefined,
};
const run: MessageOf<'run'> = {
  type: 'run',
  ask: 1,
  match: 0,
  job: 2,
  stage: 0,
  task: 3,
  attempt: 0,
  payload: { sleep: 50 },
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
};

/** Returns the position of a field in the body of its message. */
function placeOf(type: MessageType, field: string): number {
  return 1 + Object.keys(MESSAGES[type].fields).indexOf(field);
}

function altered(message: Message, field: string, value: unknown): unknown[] {
  return bodyOf(message).with(placeOf(message.type, field), value);
}

describe('encoded messages survive the round trip', () => {
  test.each(MESSAGE_TYPES)('%s', (type) => {
    const declared = ['type', ...Object.keys(MESSAGES[type].fields)];
    fc.assert(
      fc.property(messageOfType(type, addresses), (message) => {
        const decoded = codec.decode(bodyOf(message));
        expect(decoded).toEqual(message);
        expect(Object.keys(decoded)).toEqual(declared);
      }),
      { numRuns: 50 },
    );
  });

  test('a share of a job with the name of its party, which is longer than an id', () => {
    const share = {
      id: `${'x'.repeat(300)} 7`,
      user: '',
      weight: 1,
      running: 1,
      waiting: 0,
      has: {},
      due: undefined,
    };
    const value = { by: undefined, capacity: {}, jobs: [share], total: 1 };
    const message: MessageOf<'shares'> = { type: 'shares', request: 1, value };
    expect(codec.decode(bodyOf(message))).toEqual(message);
  });

  test('a body contains the code and the fields in order, with addresses as names and choices as numbers', () => {
    expect(codec.encode({ ...probe, demand: NO_RESOURCES })).toEqual([
      codeOf('probe'),
      1,
      0,
      false,
      1,
      null,
      3,
      null,
    ]);
    const moved: Message = {
      type: 'moved',
      job: 1,
      stage: 0,
      to: addresses[1] as Address,
      probes: 3,
    };
    expect(codec.encode(moved)).toEqual([codeOf('moved'), 1, 0, `${PROCESS}/1`, 3]);
  });

  test('empty resources are decoded to the shared object that machines compare with', () => {
    const decoded = codec.decode(bodyOf({ ...probe, demand: {} })) as MessageOf<'probe'>;
    expect(decoded.demand).toBe(NO_RESOURCES);
    expect(fits(decoded.demand, {})).toBe(true);
  });

  test('decoded bytes share no memory with the frame, and are not Buffers', () => {
    const output: Message = {
      type: 'output',
      job: 1,
      task: 0,
      attempt: 0,
      offset: 0,
      chunk: { stream: 'stdout', bytes: new Uint8Array([1, 2, 3]) },
      keptFrom: 0,
    };
    const body = bodyOf(output);
    const received = (body[5] as unknown[])[1] as Uint8Array;
    const { chunk } = codec.decode(body) as MessageOf<'output'>;
    received.fill(0);
    expect(chunk.bytes).toStrictEqual(new Uint8Array([1, 2, 3]));

    const stdin = new Uint8Array([7]);
    const within = bodyOf({ ...run, payload: { exec: ['cat'], stdin } });
    expect((codec.decode(within) as MessageOf<'run'>).payload).toStrictEqual({ exec: ['cat'], stdin });
  });
});

describe('everything that the codec accepts fits into a frame', () => {
  /** The most deeply nested open value of any message. */
  const endedWith = (value: unknown): Message => ({
    type: 'ended',
    report: 1,
    job: 1,
    task: 0,
    attempt: 0,
    outcome: { kind: 'completed', value, errorCode: '', errorMessage: '', exitCode: 0, signal: undefined },
    runMs: 1,
    output: [],
    outputBytes: 0,
    ask: 0,
  });

  test('the deepest value', () => {
    let nested: unknown = {};
    for (let i = 1; i < OPEN_DEPTH_MAX; i++) nested = { nested };
    expect(codec.decode(bodyOf(endedWith(nested)))).toEqual(endedWith(nested));
  });

  test('the value with the most parts', () => {
    const parts = Object.fromEntries(Array.from({ length: OPEN_NODES_MAX / 2 - 1 }, (_, i) => [i, 0]));
    const decoded = codec.decode(bodyOf(endedWith(parts))) as MessageOf<'ended'>;
    expect(Object.keys(decoded.outcome.value as object)).toHaveLength(OPEN_NODES_MAX / 2 - 1);
  });
});

test.each([
  [-1, 0],
  [3 * LIMITS.wireMsMax, LIMITS.wireMsMax],
])('a time of %d ms is sent as %d ms', (shortMs, sent) => {
  const usage = { type: 'usage', longMs: 0, arrivedMs: 0, arrivedTasks: 0, completed: [] } as const;
  expect(codec.decode(bodyOf({ ...usage, shortMs }))).toEqual({ ...usage, shortMs: sent });
});

test('decoded bytes are a copy, so that they do not keep the memory of their frame', () => {
  const chunk = { stream: 'stdout', bytes: new Uint8Array(10) } as const;
  const output = { type: 'output', job: 1, task: 0, attempt: 1, offset: 0, chunk, keptFrom: 0 } as const;
  const { bytes } = (codec.decode(bodyOf(output)) as MessageOf<'output'>).chunk;
  expect([bytes, bytes.buffer.byteLength]).toEqual([chunk.bytes, 10]);
});

describe('a peer of another version', () => {
  test('that knows fewer optional fields at the end is understood', () => {
    expect(codec.decode(bodyOf(run).slice(0, -1))).toEqual(run);
  });

  test('that knows more fields at the end is understood', () => {
    expect(codec.decode([...bodyOf(heartbeat), 'new', { field: 1 }])).toEqual(heartbeat);
  });

  test('that omits a required field is refused', () => {
    expect(() => codec.decode(bodyOf(heartbeat).slice(0, -3))).toThrow(
      new DecodeError('heartbeat.queued', 'expected a whole number of at least 0, got nothing'),
    );
  });
});

describe('invalid data from a peer', () => {
  const endedWith = (field: string, value: unknown): unknown[] => {
    const body = bodyOf({
      type: 'ended',
      report: 1,
      job: 1,
      task: 0,
      attempt: 0,
      outcome: {
        kind: 'completed',
        value: null,
        errorCode: '',
        errorMessage: '',
        exitCode: undefined,
        signal: undefined,
      },
      runMs: 1,
      output: [],
      outputBytes: 0,
      ask: 0,
    });
    return body.with(placeOf('ended', field), value);
  };

  test.each<[string, unknown, string]>([
    ['no list', 'probe', 'message: expected a list'],
    ['nothing in it', [], `${expectedCode}, got undefined`],
    ['a code that is none', [MESSAGE_TYPES.length], `${expectedCode}, got ${MESSAGE_TYPES.length}`],
    ['a fraction for a code', [1.5], `${expectedCode}, got 1.5`],
    ['a name for a code', ['probe'], `${expectedCode}, got string`],
    [
      'text for a number',
      altered(probe, 'demand', ['cpu', 1, 'memory', 'much']),
      'probe.demand.memory: expected an amount from 0 to 9007199254740991, got text',
    ],
    [
      'a negative count',
      altered(probe, 'job', -1),
      'probe.job: expected a whole number of at least 0, got -1',
    ],
    [
      'a count too large to count with',
      altered(probe, 'job', 2 ** 53),
      'probe.job: expected a whole number of at least 0, got 9007199254740992',
    ],
    [
      'a big integer',
      altered(probe, 'job', 1n),
      'probe.job: expected a whole number of at least 0, got a bigint',
    ],
    ['a number for a flag', altered(probe, 'long', 1), 'probe.long: expected a flag, got 1'],
    ['a choice that is none', altered(probe, 'lane', 3), 'probe.lane: expected one of 2 choices, got 3'],
    [
      'a property of lists for a choice',
      altered(probe, 'lane', 'length'),
      'probe.lane: expected one of 2 choices, got text',
    ],
    [
      'half a pair',
      altered(probe, 'demand', ['cpu']),
      'probe.demand: expected pairs of names and amounts, got a list',
    ],
    [
      'less than nothing',
      altered(probe, 'demand', ['cpu', -1]),
      'probe.demand.cpu: expected an amount from 0 to 9007199254740991, got -1',
    ],
    [
      'an amount without end',
      altered(probe, 'demand', ['cpu', Number.POSITIVE_INFINITY]),
      'probe.demand.cpu: expected an amount from 0 to 9007199254740991, got Infinity',
    ],
    [
      'a task beyond the last that a job may have',
      [codeOf('cancelTask'), 1, 1_000_001, 0],
      'cancelTask.task: expected at most 1000000, got 1000001',
    ],
    [
      'more slots than a worker may have',
      [codeOf('register'), 'evil', 1e9, null, false, []],
      'register.slots: expected at most 4096, got 1000000000',
    ],
    [
      'too many slots',
      [codeOf('register'), 'evil', 5000, null, false, []],
      'register.slots: expected at most 4096, got 5000',
    ],
    ['less than no time', endedWith('runMs', -1), 'ended.runMs: expected a number, got -1'],
    [
      'a time whose square has no end',
      endedWith('runMs', 1e200),
      'ended.runMs: expected a number, got 1e+200',
    ],
    ['a resource twice', altered(probe, 'demand', ['cpu', 1, 'cpu', 2]), 'probe.demand.cpu: appears twice'],
    [
      'too many resources',
      altered(probe, 'demand', Array.from({ length: 33 }, (_, i) => [`r${i}`, 1]).flat()),
      'probe.demand: 33 resources are more than 32',
    ],
    ['a number that is none', endedWith('runMs', Number.NaN), 'ended.runMs: expected a number, got NaN'],
    [
      'a time without end',
      endedWith('runMs', Number.POSITIVE_INFINITY),
      'ended.runMs: expected a number, got Infinity',
    ],
    [
      'text that is too long',
      endedWith('outcome', [0, null, 'x'.repeat(65), '', null, null]),
      'ended.outcome.errorCode: 65 characters are more than 64',
    ],
    [
      'an entry that is no record',
      endedWith('output', [[0, new Uint8Array()], 7]),
      'ended.output[1]: expected a record, got 7',
    ],
    [
      'text for bytes',
      endedWith('output', [[0, 'hello']]),
      'ended.output[0].bytes: expected bytes, got text',
    ],
    [
      'a list that is too long',
      endedWith('output', new Array(65).fill([0, new Uint8Array()])),
      'ended.output: 65 entries are more than 64',
    ],
    ['a party without a name', [codeOf('moved'), 1, 0, '', 3], 'moved.to: this is not the name of a party'],
    [
      'a date',
      [codeOf('submit'), 1, 'key', [{ at: [new Date(0)] }]],
      'submit.spec.at[0]: expected a JSON-like value, got an object',
    ],
    [
      'a map',
      [codeOf('submit'), 1, 'key', [new Map([['a', 1]])]],
      'submit.spec: expected a JSON-like value, got an object',
    ],
    [
      'a prototype',
      [codeOf('submit'), 1, 'key', [JSON.parse('{"a": {"__proto__": {"admin": true}}}')]],
      'submit.spec.a.__proto__: the key __proto__ is not allowed',
    ],
    [
      'settings that make no sense',
      [codeOf('welcome'), [{ policy: {}, timings: {} }]],
      'welcome.settings: settings: policy.policy: expected string, received undefined',
    ],
  ])('%s', (_, body, line) => {
    expect(() => codec.decode(body)).toThrow(DecodeError);
    expect(() => codec.decode(body)).toThrow(line);
  });

  test('a value that is nested too deeply', () => {
    let nested: unknown = 1;
    for (let i = 0; i < OPEN_DEPTH_MAX; i++) nested = [nested];
    expect((codec.decode([codeOf('submit'), 1, 'key', [nested]]) as MessageOf<'submit'>).spec).toBe(nested);
    expect(() => codec.decode([codeOf('submit'), 1, 'key', [[nested]]])).toThrow(
      `more than ${OPEN_DEPTH_MAX} levels deep`,
    );
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => codec.decode([codeOf('submit'), 1, 'key', [circle]])).toThrow(DecodeError);
  });

  test('a value with more parts than a frame may contain', () => {
    const flat = new Array(OPEN_NODES_MAX).fill(0);
    expect(() => codec.decode([codeOf('submit'), 1, 'key', [flat]])).toThrow(
      `more than ${OPEN_NODES_MAX} values`,
    );
  });

  test('any input is either decoded or a DecodeError', () => {
    const junk = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withSparseArray: true,
      withObjectString: true,
    });
    const message = fc.constantFrom(...MESSAGE_TYPES).chain((type) => messageOfType(type, addresses));
    const mutation = fc.record({
      place: fc.nat(),
      how: fc.constantFrom('replace', 'remove', 'insert', 'swap'),
      junk,
    });
    fc.assert(
      fc.property(message, fc.array(mutation, { minLength: 1, maxLength: 3 }), (original, mutations) => {
        const body = bodyOf(original);
        for (const { place, how, junk: value } of mutations) mutate(body, place, how, value);
        expectUnderstoodOrRefused(body);
      }),
      { numRuns: 3_000 },
    );
    fc.assert(fc.property(junk, expectUnderstoodOrRefused));
    fc.assert(
      fc.property(fc.nat(MESSAGE_TYPES.length), fc.array(junk), (code, fields) =>
        expectUnderstoodOrRefused([code, ...fields]),
      ),
    );
  });
});

/** Expects that a decoded message could also be encoded by this process. */
function expectUnderstoodOrRefused(body: unknown): void {
  let message: Message;
  try {
    message = codec.decode(body);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return;
  }
  expect(() => bodyOf(message)).not.toThrow();
}

/** Changes one of the lists in a body, wherever it lies. */
function mutate(body: unknown[], place: number, how: string, value: unknown): void {
  const lists: unknown[][] = [];
  const gather = (list: unknown[]): void => {
    lists.push(list);
    for (const entry of list) if (Array.isArray(entry)) gather(entry);
  };
  gather(body);
  const list = lists[place % lists.length]!;
  const at = Math.floor(place / lists.length) % (list.length + 1);
  if (how === 'replace') list[at] = value;
  else if (how === 'remove') list.splice(at, 1);
  else if (how === 'insert') list.splice(at, 0, value);
  else list.push(...list.splice(at, 1));
}

describe('permitted senders and receivers', () => {
  test('a message in its declared direction is accepted', () => {
    expect(codec.decode(bodyOf(heartbeat), 'worker', 'central')).toEqual(heartbeat);
    expect(codec.decode(bodyOf(heartbeat), 'scheduler', 'central')).toEqual(heartbeat);
    expect(codec.decode(bodyOf(heartbeat), undefined, 'central')).toEqual(heartbeat);
  });

  test('any other direction is refused before its fields are checked', () => {
    expect(() => codec.decode([codeOf('run'), 'rubbish'], 'client', 'worker')).toThrow(
      new DecodeError('run', 'a client may not send it, only a scheduler'),
    );
    expect(() => codec.decode(bodyOf(heartbeat), undefined, 'worker')).toThrow(
      new DecodeError('heartbeat', 'it may not be sent to a worker, only to a central'),
    );
    expect(() => codec.encode(heartbeat, 'central', undefined)).toThrow(
      new EncodeError('heartbeat', 'a central may not send it, only a worker or a scheduler'),
    );
  });
});

describe('invalid messages of our machines', () => {
  test.each<[string, Message, string]>([
    ['a number that is none', { ...run, timeoutMs: Number.NaN }, 'run.timeoutMs: expected a number, got NaN'],
    [
      'a choice that is none',
      { ...probe, lane: 'fast' as 'normal' },
      'probe.lane: expected one of express, normal, got text',
    ],
    [
      'nobody',
      { type: 'moved', job: 1, stage: 0, to: NOBODY, probes: 1 },
      'moved.to: expected a party that is known here, got -1',
    ],
    [
      'a function',
      { ...run, payload: { run: () => 1 } },
      'run.payload.run: expected a JSON-like value, got a function',
    ],
    ['no message', { type: 'hello' } as never, 'hello: unknown message type'],
  ])('%s', (_, message, line) => {
    expect(() => codec.encode(message)).toThrow(EncodeError);
    expect(() => codec.encode(message)).toThrow(line);
  });
});
