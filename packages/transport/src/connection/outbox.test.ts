import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openFrame, type PackedFrame } from '../frames/frame.js';
import { completeLimits, type MailboxLimits } from '../limits.js';
import { Outbox } from './outbox.js';

const small = completeLimits({
  frameBytesTarget: 200,
  frameBytesMax: 1_000,
  frameValuesMax: 100,
  peerQueueBytesMax: 5_000,
  peerQueueMessagesMax: 50,
});

function open(frame: PackedFrame, limits: MailboxLimits = small) {
  return openFrame(frame.bytes, limits);
}

function drain(outbox: Outbox): PackedFrame[] {
  const frames: PackedFrame[] = [];
  for (let frame = outbox.next(); frame !== undefined; frame = outbox.next()) {
    outbox.settle(frame);
    frames.push(frame);
  }
  return frames;
}

describe('an outbox', () => {
  test('packs queued messages into one frame', () => {
    const outbox = new Outbox(null, small);
    outbox.add('inc', 0, 7, ['a']);
    outbox.add('inc', 1, 8, ['b', 2]);
    const [frame, ...others] = drain(outbox);
    expect(others).toStrictEqual([]);
    expect(frame?.messages).toBe(2);
    expect(open(frame as PackedFrame)).toStrictEqual({
      target: 'inc',
      sender: null,
      mail: [
        [0, 7, ['a']],
        [1, 8, ['b', 2]],
      ],
    });
    expect(outbox.isEmpty).toBe(true);
    expect(outbox.bytes).toBe(0);
  });

  test('includes the sender if the connection does not identify it', () => {
    const outbox = new Outbox('me', small);
    outbox.add('inc', 0, 0, []);
    expect(open(outbox.next() as PackedFrame).sender).toBe('me');
  });

  test('keeps mail for different incarnations in different frames, and in order', () => {
    const outbox = new Outbox(null, small);
    for (const target of ['*', '*', 'a', '*']) outbox.add(target, 0, 0, []);
    expect(drain(outbox).map(({ target, messages }) => [target, messages])).toStrictEqual([
      ['*', 2],
      ['a', 1],
      ['*', 1],
    ]);
  });

  test('a body may be changed after it was added', () => {
    const outbox = new Outbox(null, small);
    const body = ['before'];
    outbox.add('inc', 0, 0, body);
    body[0] = 'after';
    expect(open(outbox.next() as PackedFrame).mail).toStrictEqual([[0, 0, ['before']]]);
  });

  test('starts a new frame when the current one is long enough', () => {
    const outbox = new Outbox(null, small);
    for (let i = 0; i < 30; i++) outbox.add('inc', 0, 0, ['x'.repeat(20)]);
    const frames = drain(outbox);
    expect(frames.length).toBeGreaterThan(2);
    for (const { bytes } of frames) expect(bytes.length).toBeLessThan(small.frameBytesTarget + 40);
  });

  test('a long message has a separate frame; one that fits into no frame is refused without affecting others', () => {
    const outbox = new Outbox(null, small);
    outbox.add('inc', 0, 0, ['short']);
    expect(outbox.add('inc', 0, 1, ['x'.repeat(980)])).toBeUndefined();
    expect(outbox.add('inc', 0, 2, ['x'.repeat(1_000)])?.reason).toBe('tooLarge');
    expect(outbox.add('inc', 0, 3, [Array(200).fill(0)])?.reason).toBe('tooLarge');
    expect(outbox.add('inc', 0, 4, [new Date()])?.reason).toBe('unencodable');
    outbox.add('inc', 0, 5, ['short']);
    expect(drain(outbox).flatMap((frame) => open(frame).mail.map(([, to]) => to))).toStrictEqual([0, 1, 5]);
  });

  test('a refused first message does not damage the next frame', () => {
    const outbox = new Outbox(null, small);
    expect(outbox.add('a', 0, 0, [() => 1])?.reason).toBe('unencodable');
    expect(outbox.isEmpty).toBe(true);
    expect(outbox.bytes).toBe(0);
    outbox.add('b', 1, 2, [3]);
    expect(open(outbox.next() as PackedFrame)).toMatchObject({ target: 'b', mail: [[1, 2, [3]]] });
  });

  test('is bounded in messages and bytes; removed messages count until they are settled', () => {
    const outbox = new Outbox(null, small);
    for (let i = 0; i < small.peerQueueMessagesMax; i++) expect(outbox.add('inc', 0, 0, [])).toBeUndefined();
    expect(outbox.add('inc', 0, 0, [])?.reason).toBe('overflow');
    const frame = outbox.next() as PackedFrame;
    expect(outbox.add('inc', 0, 0, [])?.reason).toBe('overflow');
    outbox.settle(frame);
    expect(outbox.add('inc', 0, 0, [])).toBeUndefined();

    const fat = new Outbox(null, small);
    let taken = 0;
    while (fat.add('inc', 0, 0, ['x'.repeat(500)]) === undefined) taken++;
    expect(taken).toBe(Math.ceil(small.peerQueueBytesMax / 550));
    expect(fat.bytes).toBeLessThan(small.peerQueueBytesMax + 600);
  });

  test('drops messages for all targets except the given ones', () => {
    const outbox = new Outbox(null, small);
    for (const target of ['old', 'old', '*', 'new', 'old']) outbox.add(target, 0, 0, []);
    expect(outbox.discard((target) => target !== 'old')).toBe(3);
    expect(drain(outbox).map(({ target }) => target)).toStrictEqual(['*', 'new']);
    expect(outbox.bytes).toBe(0);
    outbox.add('new', 0, 0, []);
    expect(outbox.discard()).toBe(1);
    expect(outbox.isEmpty).toBe(true);
  });

  test('every message comes out once and in order, and the counts are correct', () => {
    const message = fc.record({
      target: fc.constantFrom('*', 'a', 'b'),
      body: fc.array(fc.oneof(fc.string({ maxLength: 120 }), fc.integer(), fc.constant(new Date(0)))),
      take: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 60 }), (messages) => {
        const outbox = new Outbox(null, small);
        const expected: unknown[] = [];
        const received: unknown[] = [];
        const takeFrame = () => {
          const frame = outbox.next();
          if (frame !== undefined) {
            outbox.settle(frame);
            const { target, mail } = open(frame);
            received.push(...mail.map(([, , body]) => [target, body]));
          }
          return frame !== undefined;
        };
        for (const { target, body, take } of messages) {
          if (outbox.add(target, 0, 0, body) === undefined) expected.push([target, body]);
          if (take) takeFrame();
          expect(outbox.messages).toBe(expected.length - received.length);
        }
        while (takeFrame()) {
          // until it is empty
        }
        expect(received).toStrictEqual(expected);
        expect([outbox.bytes, outbox.messages]).toStrictEqual([0, 0]);
      }),
      { seed: 11, numRuns: 500 },
    );
  });
});

test('outboxes of clients share a limit, and release their part', () => {
  const room = { bytes: 0, bytesMax: 3_000 };
  const limits = { ...small, replyQueueBytesMax: 2_000 };
  const [one, other] = [new Outbox('me', limits, room), new Outbox('me', limits, room)];
  const fill = (outbox: Outbox): number => {
    let taken = 0;
    while (outbox.add('inc', 0, 0, ['x'.repeat(300)]) === undefined) taken++;
    return taken;
  };
  expect(fill(one)).toBe(7);
  expect(fill(other)).toBe(3);
  drain(one);
  expect(fill(other)).toBe(4);
  other.discard();
  expect(room.bytes).toBe(0);
});
