import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { expect, test, vi } from 'vitest';
import { LIMITS } from './limits.js';
import { lines, stream } from './stream.js';

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
  await stream(reply as unknown as FastifyReply, events(), release);
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
    const text = lines(source.next(), source);
    for (let id = 0; id < 1_000; id++)
      expect((await text.next()).value).toBe(`event: job\nid: ${id}\ndata: {}\n\n`);
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
      const sent = stream(reply as unknown as FastifyReply, events(), () => {}, format);
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
