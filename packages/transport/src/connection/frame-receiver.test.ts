import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type MailboxCounters, newCounters } from '../counters.js';
import { Directory } from '../identity/directory.js';
import { UnverifiedIdentification } from '../identity/identification.js';
import { Incarnations } from '../identity/incarnations.js';
import { completeLimits } from '../limits.js';
import { ThrottledLog } from '../log.js';
import { FrameReceiver } from './frame-receiver.js';
import { packFrame, recordingLogger } from './testing.fixture.js';

const limits = completeLimits();
const PEER = 'tcp://peer:7000!them';
const SELF = 'tcp://self:7000!me';
const BODY = [1, 'two', 3.5, { four: [64, 65, 127] }];

function openReceiver() {
  const counters = newCounters();
  const directory = new Directory();
  const logger = recordingLogger();
  const delivered: unknown[] = [];
  const receiver = new FrameReceiver({
    process: SELF,
    incarnation: 'me',
    identification: new UnverifiedIdentification(SELF),
    directory,
    incarnations: new Incarnations(limits.incarnationGraceMs),
    limits,
    counters,
    log: new ThrottledLog(logger, limits.logIntervalMs),
    onOwn: () => {},
    onSuccessor: () => {},
    onForeignClient: () => {},
    onOtherVersion: () => {},
  });
  receiver.register(0, (from, body) => delivered.push([directory.nameOf(from), body]));
  const arrive = (bytes: Uint8Array, routingId = PEER) =>
    receiver.acceptFromPeer([Buffer.from(routingId), Buffer.from(bytes)]);
  return { receiver, counters, directory, logger, delivered, arrive };
}

function validFrame(target = 'me', messages = 1): Buffer {
  return packFrame(target, Array(messages).fill([3, 0, BODY]));
}

function refusals({ refused }: MailboxCounters): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

describe('the receiver', () => {
  test('delivers valid messages with the name of the sender', () => {
    const { arrive, delivered, counters } = openReceiver();
    const frame = validFrame('me', 2);
    expect(arrive(frame)).toBe(2);
    expect(delivered).toStrictEqual([
      [`${PEER}/3`, BODY],
      [`${PEER}/3`, BODY],
    ]);
    expect(counters.received).toStrictEqual({ messages: 2, frames: 1, bytes: frame.length });
  });

  test('delivers nothing of a frame with an invalid message', () => {
    const { arrive, delivered, counters } = openReceiver();
    const frame = validFrame('me', 2);
    frame[frame.length - 1] = 0xc1;
    expect(arrive(frame)).toBe(0);
    expect(delivered).toStrictEqual([]);
    expect(counters.refused.malformed).toBe(1);
  });

  test.each([
    ['', 'unknownSender'],
    ['hello', 'unknownSender'],
    ['\u0000\u0001\u0002', 'unknownSender'],
    ['tcp://peer:7000!*', 'unknownSender'],
    [`tcp://${'p'.repeat(300)}:1!x`, 'unknownSender'],
  ] as const)('refuses a sender named %j, and stores nothing about it', (name, reason) => {
    const { arrive, counters, directory, logger } = openReceiver();
    arrive(validFrame(), name);
    expect(counters.refused[reason]).toBe(1);
    expect(directory.size).toBe(0);
    expect(logger.lines[0]?.message).toMatch(/^[\x20-\x7e]{1,300}$/);
  });

  test('refuses mail for another incarnation', () => {
    const { arrive, counters, delivered } = openReceiver();
    arrive(validFrame('another'));
    arrive(validFrame('*'));
    expect(counters.refused.wrongTarget).toBe(1);
    expect(delivered).toHaveLength(1);
  });

  test('accepts replies only with the name of their sender', () => {
    const { receiver, counters } = openReceiver();
    receiver.acceptReply('tcp://server:7000', [validFrame()]);
    receiver.acceptReply('tcp://server:7000', []);
    expect(counters.refused).toMatchObject({ unknownSender: 1, malformed: 1 });
  });

  test('logs one line for a peer that sends garbage a thousand times', () => {
    const { arrive, counters, logger } = openReceiver();
    for (let i = 0; i < 1_000; i++) arrive(Buffer.from('rubbish'));
    expect(counters.refused.malformed).toBe(1_000);
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines[0]?.message).toMatch(`dropped a frame from ${PEER}: `);
  });

  test('is not closed by a handler that forgets the sender of later messages', () => {
    const { receiver, directory, arrive } = openReceiver();
    const names: unknown[] = [];
    receiver.unregister(0);
    receiver.register(0, (from) => {
      names.push(directory.nameOf(from));
      directory.forget(from);
    });
    arrive(validFrame('me', 2));
    arrive(validFrame('me', 1));
    expect(names).toStrictEqual([`${PEER}/3`, undefined, `${PEER}/3`]);
    expect(directory.size).toBe(0);
  });

  test('delivers nothing once it is closed', () => {
    const { receiver, arrive, delivered, counters } = openReceiver();
    receiver.close();
    arrive(validFrame());
    expect(delivered).toStrictEqual([]);
    expect(refusals(counters)).toBe(0);
  });
});

describe('ten thousand hostile frames', () => {
  const RUNS = 10_000;

  function attack(bytes: fc.Arbitrary<Uint8Array>, seed: number) {
    const outcome = openReceiver();
    fc.assert(
      fc.property(bytes, (frame) => {
        const before = outcome.delivered.length;
        outcome.arrive(frame);
        outcome.delivered.length = before;
        // After any bad frame, the next sound frame is read correctly.
        expect(outcome.arrive(validFrame())).toBe(1);
        expect(outcome.delivered.pop()).toStrictEqual([`${PEER}/3`, BODY]);
      }),
      { seed, numRuns: RUNS },
    );
    return outcome;
  }

  test('of random bytes', () => {
    const { counters, directory } = attack(fc.uint8Array({ maxLength: 64 }), 1);
    expect(counters.refused.malformed).toBe(RUNS);
    expect(directory.size).toBe(1);
  });

  test('with a valid head and a random body', () => {
    // The body of the one message is the last byte.
    const start = packFrame('me', [[0, 0, []]]).subarray(0, -1);
    const mail = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.concat([start, bytes]));
    const { counters } = attack(mail, 2);
    expect(counters.refused.malformed + counters.received.frames).toBe(2 * RUNS);
  });

  test('with changed, removed and inserted bytes', () => {
    const sound = validFrame('me', 3);
    const change = fc.record({
      at: fc.nat(sound.length - 1),
      cut: fc.nat(4),
      // Tokens that announce something: extensions, lengths, deep nesting.
      insert: fc.array(
        fc.oneof(
          fc.constantFrom(0xc1, 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd8, 0xdc, 0xdd, 0xde, 0xdf, 0xdb, 0x72),
          fc.nat(255),
        ),
        { maxLength: 6 },
      ),
    });
    const changed = fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
      let bytes: Buffer = Buffer.from(sound);
      for (const { at, cut, insert } of changes) {
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(insert), bytes.subarray(at + cut)]);
      }
      return bytes;
    });
    attack(changed, 3);
  });

  test('of truncated frames', () => {
    const sound = validFrame('me', 20);
    const { counters } = attack(
      fc.nat(sound.length - 1).map((length) => sound.subarray(0, length)),
      4,
    );
    expect(counters.refused.malformed).toBe(RUNS);
  });
});
