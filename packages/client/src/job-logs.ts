import type { LogPage } from '@goshawk/core';
import { pause } from './abort.js';
import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

export type LogChunk = LogPage['chunks'][number];

export interface LogOptions extends CallOptions {
  /** Only this task. */
  readonly task?: number | undefined;
  /** Only failed tasks. */
  readonly failed?: boolean | undefined;
  /** Continues until the job has ended. Default: ends with the current output. */
  readonly follow?: boolean | undefined;
  /** Called once, when all output that existed at the time of the call has been yielded. */
  readonly onCaughtUp?: (() => void) | undefined;
  /** Called if requested output was discarded; the next chunk comes after the gap. */
  readonly onDropped?: (() => void) | undefined;
}

export interface TaskOutput {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Whether the scheduler discarded part of it. */
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
  for (;;) {
    const page = await readPage(session, id, cursor, options);
    if (page.dropped) options.onDropped?.();
    yield* page.chunks;
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
