import { InputError, type LogPage } from '@goshawk/core';
import { pause } from './abort.js';
import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

/** Number that stands for the last attempt in requests. */
const LAST_ATTEMPT = 0;

type SentChunk = LogPage['chunks'][number];

export type LogChunk = Omit<SentChunk, 'offset'>;

/** Output of one attempt that is missing. */
export interface LogGap {
  readonly task: number;
  readonly attempt: number;
  /** Number of bytes of both streams. */
  readonly bytes: number;
}

export interface LogOptions extends CallOptions {
  /** Only this task. */
  readonly task?: number | undefined;
  /** Only failed tasks. */
  readonly failed?: boolean | undefined;
  /**
   * Attempt of each task, from 1 on. Default: the last one; with `follow`, the last one at first and then all that start.
   */
  readonly attempt?: number | 'last' | 'all' | undefined;
  /** Continues until the job has ended. Default: ends with the current output. */
  readonly follow?: boolean | undefined;
  /** Called once, when all output that existed at the time of the call has been yielded. */
  readonly onCaughtUp?: (() => void) | undefined;
  /**
   * Called if requested output is missing; the next chunk comes after the gap.
   *
   * @param gap how much of which attempt; undefined: unknown
   * @param why the reason, as the end of a sentence, if the gap is unknown
   */
  readonly onDropped?: ((gap: LogGap | undefined, why: string | undefined) => void) | undefined;
  /** Called once if earlier attempts have output, which is left out. */
  readonly onEarlierAttempts?: (() => void) | undefined;
}

export interface TaskOutput {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Whether part of it is missing, because the scheduler discarded or could not store it. */
  readonly isTruncated: boolean;
}

/** Task output in order of arrival at the owner. */
export async function* jobLogs(
  session: Session,
  id: string,
  options: LogOptions,
): AsyncGenerator<LogChunk, void, undefined> {
  const { logPollMs, logPollMaxMs } = session.timings;
  const { attempt = 'last' } = options;
  if (typeof attempt === 'number' && (!Number.isSafeInteger(attempt) || attempt < 1))
    throw new InputError('bad-attempt', `attempt: expected last, all or a number from 1 on, got ${attempt}`);
  const only = attempt === 'all' ? undefined : attempt === 'last' ? LAST_ATTEMPT : attempt;
  let cursor = 0;
  let pauseMs = logPollMs;
  let isCaughtUp = false;
  let hasEarlier = false;
  const received = new Received();
  for (;;) {
    // The last attempt may change while this follows the output, before all of it has been read.
    const isLive = options.follow === true && isCaughtUp && only === LAST_ATTEMPT;
    const page = await readPage(session, id, cursor, options, isLive ? undefined : only);
    if (page.dropped) options.onDropped?.(undefined, page.whyDropped);
    if (page.hasEarlier === true && !hasEarlier) options.onEarlierAttempts?.();
    hasEarlier ||= page.hasEarlier === true;
    for (const sent of page.chunks) {
      const { chunk, missing } = received.take(sent);
      if (missing > 0)
        options.onDropped?.({ task: chunk.task, attempt: chunk.attempt, bytes: missing }, undefined);
      if (chunk.bytes.length > 0) yield chunk;
    }
    if (page.atEnd && !isCaughtUp) options.onCaughtUp?.();
    isCaughtUp ||= page.atEnd;
    const isNew = page.next > cursor;
    cursor = page.next;
    if (page.done || (!isNew && !options.follow)) return;
    if (isNew) {
      pauseMs = logPollMs;
      continue;
    }
    await pause(pauseMs, options.signal);
    pauseMs = Math.min(logPollMaxMs, pauseMs * 2);
  }
}

/**
 * Finds missing and repeated output, from the position that each chunk has in the output of its attempt. A restarted
 * scheduler has other chunks than before, and repeats output of running tasks.
 */
class Received {
  readonly #bytes = new Map<number, { readonly attempt: number; readonly bytes: number }>();

  /** Returns the new part of a chunk, and the number of bytes that are missing before it. */
  take({ offset, ...chunk }: SentChunk): { readonly chunk: LogChunk; readonly missing: number } {
    if (offset === undefined) return { chunk, missing: 0 };
    const { task, attempt, bytes } = chunk;
    const of = this.#bytes.get(task);
    const received = of?.attempt === attempt ? of.bytes : 0;
    const fresh = bytes.subarray(Math.min(bytes.length, Math.max(0, received - offset)));
    this.#bytes.set(task, { attempt, bytes: Math.max(received, offset + bytes.length) });
    return { chunk: { ...chunk, bytes: fresh }, missing: Math.max(0, offset - received) };
  }
}

/** Returns the captured output of the last attempt of one task. @throws InputError `unknown-task` */
export async function taskOutput(
  session: Session,
  id: string,
  task: number,
  options: CallOptions,
): Promise<TaskOutput> {
  let isTruncated = false;
  const chunks: LogChunk[] = [];
  const onDropped = (): void => {
    isTruncated = true;
  };
  for await (const chunk of jobLogs(session, id, { ...options, task, onDropped })) chunks.push(chunk);
  // The last attempt may have no output.
  const { value } = await askOwner(
    session,
    id,
    { what: 'for the attempts of a task', build: (request) => ({ type: 'explainJob', request, id, task }) },
    options,
  );
  const last = value.task?.attempts;
  const printed = (stream: LogChunk['stream']): Uint8Array =>
    Buffer.concat(
      chunks.filter((chunk) => chunk.attempt === last && chunk.stream === stream).map(({ bytes }) => bytes),
    );
  return { stdout: printed('stdout'), stderr: printed('stderr'), isTruncated };
}

async function readPage(
  session: Session,
  id: string,
  cursor: number,
  { task, failed = false, signal }: LogOptions,
  attempt: number | undefined,
): Promise<LogPage> {
  const answer = await askOwner(
    session,
    id,
    {
      what: 'for the output of a job',
      build: (request) => ({ type: 'readLogs', request, id, task, failedOnly: failed, cursor, attempt }),
    },
    { signal },
  );
  const page = answer.value;
  if (page.next < cursor) throw badAnswer(answer.peer, 'more output');
  return page;
}
