import type { LogPage } from '@goshawk/core';
import { pause } from './abort.js';
import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

type SentChunk = LogPage['chunks'][number];

export type LogChunk = Omit<SentChunk, 'offset'>;

export interface LogOptions extends CallOptions {
  /** Only this task. */
  readonly task?: number | undefined;
  /** Only failed tasks. */
  readonly failed?: boolean | undefined;
  /** Continues until the job has ended. Default: ends with the current output. */
  readonly follow?: boolean | undefined;
  /** Called once, when all output that existed at the time of the call has been yielded. */
  readonly onCaughtUp?: (() => void) | undefined;
  /** Called if requested output is missing, because its scheduler discarded it or restarted; the next chunk comes after the gap. */
  readonly onDropped?: (() => void) | undefined;
}

export interface TaskOutput {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Whether part of it is missing, because the scheduler discarded it or restarted. */
  readonly isTruncated: boolean;
}

/** Task output in order of arrival at the owner. */
export async function* jobLogs(
  session: Session,
  id: string,
  options: LogOptions,
): AsyncGenerator<LogChunk, void, undefined> {
  const { logPollMs, logPollMaxMs } = session.timings;
  let cursor = 0;
  let pauseMs = logPollMs;
  let isCaughtUp = false;
  const gaps = new Gaps();
  for (;;) {
    const page = await readPage(session, id, cursor, options);
    if (page.dropped) options.onDropped?.();
    for (const { offset, ...chunk } of page.chunks) {
      if (gaps.isBefore(chunk, offset)) options.onDropped?.();
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

/** Finds output that is missing, from the position that each chunk has in the output of its attempt. */
class Gaps {
  readonly #received = new Map<number, { readonly attempt: number; readonly bytes: number }>();

  isBefore({ task, attempt, bytes }: LogChunk, offset: number | undefined): boolean {
    if (offset === undefined) return false;
    const of = this.#received.get(task);
    const received = of?.attempt === attempt ? of.bytes : 0;
    this.#received.set(task, { attempt, bytes: offset + bytes.length });
    return offset > received;
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
): Promise<LogPage> {
  const answer = await askOwner(
    session,
    id,
    {
      what: 'for the output of a job',
      build: (request) => ({ type: 'readLogs', request, id, task, failedOnly: failed, cursor }),
    },
    { signal },
  );
  const page = answer.value;
  if (page.next < cursor) throw badAnswer(answer.peer, 'more output');
  return page;
}
