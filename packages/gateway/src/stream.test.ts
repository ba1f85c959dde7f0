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
      for (let id = 1; id < 1_000; id++) yield { event: 'job', id: `${id}`, data: {} };
      await new Promise(() => {});
    }
    const text = lines({ event: 'job', id: '0', data: {} }, events());
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
