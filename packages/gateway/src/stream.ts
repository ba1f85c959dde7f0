import { Readable } from 'node:stream';
import type { Millis } from '@goshawk/core';
import type { FastifyReply } from 'fastify';
import { LIMITS } from './limits.js';
import type { StreamEvent } from './route.js';
import type { TakeTurn } from './turns.js';

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
  turn: TakeTurn,
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
  const body = Readable.from(lines(first, iterator, turn, format), { objectMode: false });
  body.once('close', () => {
    ended();
    // A generator that was never read does not run its `finally`, so it is ended here.
    void iterator.return?.();
  });
  const type = format === 'events' ? 'text/event-stream' : 'application/x-ndjson';
  return reply.header('x-accel-buffering', 'no').type(type).send(body);
}

/**
 * Yields the text of the events. An idle stream takes no turn: it takes one once an event has arrived.
 *
 * @param turn runs the making of each chunk of text
 */
export async function* lines(
  first: Promise<IteratorResult<StreamEvent>>,
  rest: AsyncIterator<StreamEvent>,
  turn: TakeTurn,
  format: StreamFormat = 'events',
): AsyncGenerator<string> {
  try {
    for (let next: Promise<IteratorResult<StreamEvent>> | undefined = first; next !== undefined; ) {
      if ((await withTimeout(next, LIMITS.streamBeatMs)) === undefined) {
        // A blank before a JSON line changes nothing.
        yield format === 'events' ? ': still here\n\n' : ' ';
        continue;
      }
      const arrived: Promise<IteratorResult<StreamEvent>> = next;
      const chunk: Chunk = await turn(() => chunkOf(arrived, rest, format));
      // An empty text would end the stream early.
      if (chunk.text !== '') yield chunk.text;
      next = chunk.next;
    }
  } finally {
    // `return` is not awaited, because it may wait for the next event.
    void rest.return?.();
  }
}

interface Chunk {
  readonly text: string;
  /** The first event that is not in the text; undefined: the stream has ended. */
  readonly next: Promise<IteratorResult<StreamEvent>> | undefined;
}

/** Returns the text of the events that are available without waiting, up to the size of a chunk. */
async function chunkOf(
  first: Promise<IteratorResult<StreamEvent>>,
  rest: AsyncIterator<StreamEvent>,
  format: StreamFormat,
): Promise<Chunk> {
  let text = '';
  const waits = new Promise<undefined>((resolve) => {
    setImmediate(resolve, undefined);
  });
  for (let next = first; ; next = rest.next()) {
    const result = await Promise.race([next, waits]);
    if (result?.done) return { text, next: undefined };
    if (result === undefined) return { text, next };
    // JSON lines have no `ended` event.
    if (format === 'events' || result.value.event !== 'ended') text += textOf(result.value, format);
    if (text.length >= LIMITS.streamChunkBytes) return { text, next: rest.next() };
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
