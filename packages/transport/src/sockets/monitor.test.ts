import { EventEmitter, on } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Event, Router } from 'zeromq';
import { recordingLogger } from '../connection/testing.fixture.js';
import { newCounters } from '../counters.js';
import { completeLimits } from '../limits.js';
import { watchConnections } from './monitor.js';
import { RejectedConnections } from './rejected-connections.js';

const limits = completeLimits({ handshakeTimeoutMs: 10_000 });

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A socket with one established connection and one in its handshake, when a connection ends: either may be gone. */
async function connectingSocket() {
  const emitter = new EventEmitter();
  const counters = newCounters();
  const rejected = new RejectedConnections(counters, recordingLogger(), 60_000);
  const events = on(emitter, 'event');
  const router = { events: { [Symbol.asyncIterator]: () => unwrapped(events) } } as unknown as Router;
  void watchConnections(router, limits, counters, rejected, { isIdle: false });
  const hear = async (...types: Event['type'][]) => {
    for (const type of types) emitter.emit('event', { type });
    await vi.advanceTimersByTimeAsync(0);
  };
  await hear('accept', 'handshake', 'accept', 'disconnect');
  return { counters, hear };
}

async function* unwrapped(events: AsyncIterable<unknown[]>): AsyncGenerator<Event> {
  for await (const [event] of events) yield event as Event;
}

test('a connection that ends during its handshake is foreign, unless the handshake succeeds in time', async () => {
  const ended = await connectingSocket();
  const succeeds = await connectingSocket();
  await succeeds.hear('handshake');
  await vi.advanceTimersByTimeAsync(12_100);
  expect(ended.counters.rejections.malformed).toBe(1);
  expect(succeeds.counters.rejections.malformed).toBe(0);
});

test('a late event loop first reads the events that it has missed', async () => {
  const { counters, hear } = await connectingSocket();
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 20_000);
  await vi.advanceTimersByTimeAsync(12_100);
  expect(counters.rejections.malformed).toBe(0);
  clock.mockRestore();
  await hear('handshake');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(counters.rejections.malformed).toBe(0);
});

test('a handshake that was given up is counted as incomplete', async () => {
  const { counters, hear } = await connectingSocket();
  await hear('handshake:error:other');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(counters.rejections).toMatchObject({ incomplete: 1, malformed: 0 });
});
