import { Readable } from 'node:stream';
import type { Millis } from '@goshawk/core';
import type { FastifyReply } from 'fastify';
import { LIMITS } from './limits.js';
import type { StreamEvent } from './route.js';

/** The first event, or error, decides how the answer begins: a job that there is not is a 404, not an empty stream. */
export async function stream(
  reply: FastifyReply,
  events: AsyncIterable<StreamEvent>,
  ended: () => void,
): Promise<unknown> {
  const iterator = events[Symbol.asyncIterator]();
  let first: IteratorResult<StreamEvent>;
  try {
    first = await iterator.next();
  } catch (error) {
    ended();
    throw error;
  }
  // A browser that gets 204 does not connect again.
  if (first.done) {
    ended();
    return reply.status(204).send();
  }
  const body = Readable.from(lines(first.value, iterator), { objectMode: false });
  body.once('close', ended);
  return reply.header('x-accel-buffering', 'no').type('text/event-stream').send(body);
}

export async function* lines(first: StreamEvent, rest: AsyncIterator<StreamEvent>): AsyncGenerator<string> {
  try {
    yield textOf(first);
    let next = rest.next();
    for (;;) {
      const came = await within(next, LIMITS.streamBeatMs);
      if (came === undefined) yield ': still here\n\n';
      else if (came.done) return;
      else {
        yield textOf(came.value);
        next = rest.next();
      }
    }
  } finally {
    // Not waited for: it may wait itself for what comes next.
    void rest.return?.();
  }
}

/** @returns undefined where nothing came in time */
async function within<T>(next: Promise<T>, ms: Millis): Promise<T | undefined> {
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

function textOf({ event, id, data }: StreamEvent): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
