import { Readable } from 'node:stream';
import type { Millis } from '@goshawk/core';
import type { FastifyReply } from 'fastify';
import { LIMITS } from './limits.js';
import type { StreamEvent } from './route.js';

/** Format of a stream: server-sent events, or JSON lines. */
export type StreamFormat = 'events' | 'lines';

/**
 * Sends a stream. The first event or error determines the status: an unknown job is a 404, not an empty
 * stream. A stream without events begins after a few seconds, because proxies and clients give up on a silent one.
 */
export async function stream(
  reply: FastifyReply,
  events: AsyncIterable<StreamEvent>,
  ended: () => void,
  format: StreamFormat = 'events',
): Promise<unknown> {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  try {
    const result = await withTimeout(first, LIMITS.streamStartMs);
    // A browser that gets 204 does not reconnect.
    if (result?.done) {
      ended();
      return reply.status(204).send();
    }
  } catch (error) {
    ended();
    throw error;
  }
  const body = Readable.from(lines(first, iterator, format), { objectMode: false });
  body.once('close', () => {
    ended();
    // A generator that was never read does not run its `finally`, so it is ended here.
    void iterator.return?.();
  });
  const type = format === 'events' ? 'text/event-stream' : 'application/x-ndjson';
  return reply.header('x-accel-buffering', 'no').type(type).send(body);
}

export async function* lines(
  first: Promise<IteratorResult<StreamEvent>>,
  rest: AsyncIterator<StreamEvent>,
  format: StreamFormat = 'events',
): AsyncGenerator<string> {
  // JSON lines have no `ended` event, and an empty text would end the stream early.
  const isShown = ({ event }: StreamEvent) => format === 'events' || event !== 'ended';
  try {
    let next = first;
    for (;;) {
      const result = await withTimeout(next, LIMITS.streamBeatMs);
      if (result?.done) return;
      if (result === undefined) {
        // A blank before a JSON line changes nothing.
        yield format === 'events' ? ': still here\n\n' : ' ';
        continue;
      }
      if (isShown(result.value)) yield textOf(result.value, format);
      next = rest.next();
    }
  } finally {
    // `return` is not awaited, because it may wait for the next event.
    void rest.return?.();
  }
}

/** @returns undefined after the timeout */
async function withTimeout<T>(next: Promise<T>, ms: Millis): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined).unref();
  });
  try {
    return await Promise.race([next, over]);
  } finally {
    clearTimeout(timer);
  }
}

function textOf({ event, id, data }: StreamEvent, format: StreamFormat): string {
  if (format === 'lines') return `${JSON.stringify(data)}\n`;
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
