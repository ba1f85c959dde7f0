import type { JobHandle, LogGap } from '@goshawk/client';
import { type Context, plain } from '@goshawk/command';
import { counted, sumOf, type TaskRange } from '@goshawk/core';
import { outputFileLines, outputFiles } from './output-files.js';
import {
  inTaskOrder,
  jsonOutput,
  type OutputSink,
  type PrintedChunk,
  prefixedOutput,
  rawOutput,
  sortedOutput,
  wholeLines,
  withAttempts,
  withoutEscapes,
} from './task-output.js';

interface LogsRequest {
  /** Only these tasks. */
  readonly tasks?: readonly TaskRange[] | undefined;
  readonly failed: boolean;
  /** Whether to continue until the job has ended, in the order of output. */
  readonly follow: boolean;
  readonly attempt: number | 'last' | 'all';
  /** Number of last lines of each task; undefined prints all existing output. */
  readonly tail?: number | undefined;
  /** Whether to print the task before each line. */
  readonly isPrefixed: boolean;
  /** Whether to print the time before each line. */
  readonly timestamps?: boolean;
  /** Whether to pass escape sequences to a terminal. */
  readonly escapes?: boolean;
  /** Whether to print a live stream task by task at the end. */
  readonly isSorted?: boolean;
}

/** Prints the output of tasks, in task order without `follow`, and that in files after it. */
export async function showLogs(
  context: Context,
  job: JobHandle,
  request: LogsRequest,
  signal: AbortSignal,
): Promise<void> {
  const shown = sinkFor(context, job.id, request);
  let isEmpty = true;
  const sink: OutputSink = {
    write: (chunk) => {
      isEmpty = false;
      shown.write(chunk);
    },
    end: () => shown.end(),
  };
  const { tasks, failed, follow, tail, attempt } = request;
  const [range] = tasks ?? [];
  const task = tasks?.length === 1 && range!.first === range!.last ? range!.first : undefined;
  const isShown = (index: number): boolean =>
    tasks === undefined || tasks.some(({ first, last }) => index >= first && index <= last);
  let held: PrintedChunk[] | undefined = follow && tail === undefined ? undefined : [];
  const release = (): void => {
    const wanted = tail === undefined ? held : lastLines(held ?? [], tail);
    held = undefined;
    for (const chunk of follow ? (wanted ?? []) : inTaskOrder(wanted ?? [])) sink.write(chunk);
  };
  const missing = new MissingOutput(context, isShown);
  let hasEarlier = false;
  const chunks = job.logs({
    ...{ task, failed, follow, attempt, signal },
    onDropped: (gap, why) => missing.add(gap, why),
    onEarlierAttempts: () => {
      hasEarlier = true;
    },
    onCaughtUp: release,
  });
  for await (const chunk of chunks) {
    if (!isShown(chunk.task)) continue;
    if (held === undefined) sink.write(chunk);
    else held.push(chunk);
  }
  if (held !== undefined) release();
  const files = await outputFiles(job, { tasks, failed, attempt }, signal);
  for (const chunk of tail === undefined ? files.chunks : lastLines(files.chunks, tail)) sink.write(chunk);
  sink.end();
  missing.end();
  if (hasEarlier) context.note('earlier attempts of tasks also printed output: --attempt all shows it');
  for (const line of outputFileLines(files)) context.note(plain(line));
  if (isEmpty && !hasEarlier && typeof attempt === 'number')
    context.note(`there is no output of attempt ${attempt}`);
}

/** Says on stderr what output is missing. */
class MissingOutput {
  readonly #context: Context;
  readonly #isShown: (task: number) => boolean;
  readonly #bytes = new Map<number, number>();
  readonly #reasons = new Set<string>();

  constructor(context: Context, isShown: (task: number) => boolean) {
    this.#context = context;
    this.#isShown = isShown;
  }

  add(gap: LogGap | undefined, why = WHY_MISSING): void {
    if (gap !== undefined) {
      if (this.#isShown(gap.task)) this.#bytes.set(gap.task, (this.#bytes.get(gap.task) ?? 0) + gap.bytes);
      return;
    }
    if (this.#reasons.has(why)) return;
    this.#context.note(plain(`some output is gone: ${why}`));
    this.#reasons.add(why);
  }

  end(): void {
    if (this.#bytes.size === 0) return;
    const all = [...this.#bytes].sort(([one], [other]) => one - other);
    const named = all.slice(0, TASKS_NAMED_MAX).map(([task, bytes]) => `task ${task}: ${bytes}`);
    const more = all.length > named.length ? [counted(all.length - named.length, 'more task')] : [];
    const sum = sumOf(all, ([, bytes]) => bytes);
    this.#context.note(
      `${sum} bytes of output are missing (${[...named, ...more].join(', ')}): ${[...this.#reasons][0] ?? WHY_MISSING}`,
    );
  }
}

/** Maximum number of tasks that are named because their output is missing. */
const TASKS_NAMED_MAX = 5;

const WHY_MISSING = 'workers keep a limited amount until a scheduler has stored it';

function sinkFor(
  context: Context,
  job: string,
  { isPrefixed, timestamps = false, isSorted = false, escapes = false }: LogsRequest,
): OutputSink {
  if (context.global.json) return jsonOutput(context, job);
  const bytes =
    isPrefixed || timestamps
      ? prefixedOutput(context, { tasks: isPrefixed, times: timestamps })
      : rawOutput(context);
  const sink = isSorted ? sortedOutput(context) : isPrefixed ? bytes : withAttempts(context, bytes);
  return escapes ? sink : withoutEscapes(context, sink);
}

/**
 * Returns the last lines of each task, over all attempts, and of its stderr separately: a program that
 * buffers stdout writes it after the error that ended it.
 */
export function lastLines(chunks: readonly PrintedChunk[], count: number): PrintedChunk[] {
  const lines: PrintedChunk[] = [];
  const sink: OutputSink = wholeLines((line) => lines.push(line));
  for (const chunk of chunks) sink.write(chunk);
  sink.end();
  const shown: PrintedChunk[] = [];
  const taken = new Map<number, { all: number; stderr: number }>();
  for (const line of lines.reverse()) {
    const of = taken.get(line.task) ?? { all: 0, stderr: 0 };
    taken.set(line.task, of);
    const isLast = of.all++ < count;
    const isLastOfStderr = line.stream === 'stderr' && of.stderr++ < count;
    if (isLast || isLastOfStderr) shown.push(line);
  }
  return shown.reverse();
}
