import type { Readable } from 'node:stream';
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { expect, test, vi } from 'vitest';
import { LIMITS } from './limits.js';
import { lines, stream } from './stream.js';
import type { TakeTurn } from './turns.js';

const atOnce: TakeTurn = (work) => work();

test('a stream whose connection closes before its first read closes its source', async () => {
  let hasEnded = false;
  async function* events() {
    try {
      for (;;) yield { event: 'job', data: {} };
    } finally {
      hasEnded = true;
    }
  }
  const bodies: Readable[] = [];
  const reply = { header: () => reply, type: () => reply, send: (body: Readable) => void bodies.push(body) };
  const release = vi.fn();
  await stream(reply as unknown as FastifyReply, events(), release, atOnce);
  bodies[0]!.destroy();
  await expect.poll(() => hasEnded).toBe(true);
  expect(release).toHaveBeenCalledOnce();
});

test('a stream has one timer for any number of events, and sends keepalives when there are none', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    async function* events() {
      for (let id = 0; id < 1_000; id++) yield { event: 'job', id: `${id}`, data: {} };
      await new Promise(() => {});
    }
    const source = events();
    const text = lines(source.next(), source, atOnce);
    const expected = Array.from({ length: 1_000 }, (_, id) => `event: job\nid: ${id}\ndata: {}\n\n`).join('');
    for (let sent = ''; sent !== expected; ) {
      sent += (await text.next()).value;
      expect(expected.startsWith(sent)).toBe(true);
    }
    const next = text.next();
    await Promise.resolve();
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(LIMITS.streamBeatMs);
    expect((await next).value).toBe(': still here\n\n');
    await text.return(undefined);
  } finally {
    vi.useRealTimers();
  }
});

test.each(['events', 'lines'] as const)(
  'a stream of %s whose first event takes long begins before proxies and clients give up',
  async (format) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let go: () => void = () => {};
      async function* events() {
        await new Promise<void>((resolve) => {
          go = resolve;
        });
        yield { event: 'result', data: { index: 0 } };
      }
      const bodies: Readable[] = [];
      const reply = {
        header: () => reply,
        type: () => reply,
        send: (body: Readable) => void bodies.push(body),
      };
      const sent = stream(reply as unknown as FastifyReply, events(), () => {}, atOnce, format);
      await vi.advanceTimersByTimeAsync(LIMITS.streamStartMs);
      await sent;
      let text = '';
      bodies[0]!.on('data', (bytes) => {
        text += bytes;
      });
      await vi.advanceTimersByTimeAsync(4 * LIMITS.streamBeatMs);
      expect(text).toBe(format === 'events' ? ': still here\n\n'.repeat(4) : '    ');
      go();
      await vi.advanceTimersByTimeAsync(1);
      const line = text.trimEnd().split('\n').at(-1)!;
      expect(JSON.parse(line.replace(/^data: /, ''))).toEqual({ index: 0 });
      bodies[0]!.destroy();
    } finally {
      vi.useRealTimers();
    }
  },
);

test('a stream takes a turn for each chunk of text, and none while it waits', async () => {
  let taken = 0;
  const turn: TakeTurn = (work) => {
    taken++;
    return work();
  };
  let go = (): void => {};
  async function* events() {
    await new Promise<void>((resolve) => {
      go = resolve;
    });
    for (;;) yield { event: 'result', data: 'x'.repeat(98) };
  }
  const source = events();
  const text = lines(source.next(), source, turn, 'lines');
  const first = text.next();
  await nextLoop();
  expect(taken).toBe(0);
  go();
  for (const chunk of [await first, await text.next(), await text.next()])
    expect(chunk.value).toHaveLength(101 * Math.ceil(LIMITS.streamChunkBytes / 101));
  expect(taken).toBe(3);
  await text.return(undefined);
});
