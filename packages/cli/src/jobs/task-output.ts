import type { LogChunk } from '@goshawk/client';
import { type Context, plain } from '@goshawk/command';
import { textOf } from './spec-json.js';

/** Output of a task: in the log, or in a file, which does not tell when it was printed. */
export type PrintedChunk = Omit<LogChunk, 'at'> & Partial<Pick<LogChunk, 'at'>>;

/** Consumer of task output. */
export interface OutputSink {
  write(chunk: PrintedChunk): void;
  /** Ends the output and flushes lines without a newline. */
  end(): void;
}

const NEWLINE = 0x0a;

/**
 * Removes escape sequences and control characters from output to a terminal, line by line, since they could
 * rewrite the screen, set its title or hide text. Files and pipes get every byte.
 */
export function withoutEscapes(context: Context, sink: OutputSink): OutputSink {
  const lines = wholeLines((line) => sink.write({ ...line, bytes: harmless(line.bytes) }));
  return {
    write: (chunk) => (context[chunk.stream].isTTY === true ? lines : sink).write(chunk),
    end() {
      lines.end();
      sink.end();
    },
  };
}

/** Returns a line without control characters, and only its text after the last carriage return. */
function harmless(line: Uint8Array): Uint8Array {
  const isWhole = line.at(-1) === NEWLINE;
  const text = new TextDecoder().decode(isWhole ? line.subarray(0, -1) : line).replace(/\r+$/, '');
  const shown = text.split('\r').at(-1)!.split('\t').map(plain).join('\t');
  return Buffer.from(isWhole ? `${shown}\n` : shown);
}
/** Maximum length of a line in bytes; longer ones are split. */
const LINE_BYTES_MAX = 64 * 1024;

/**
 * Writes bytes unchanged, stdout to stdout and stderr to stderr. Only on a terminal does it add a newline
 * after an incomplete last line, so that the next message or the prompt starts on a new line.
 */
export function rawOutput(context: Context): OutputSink {
  let last: PrintedChunk | undefined;
  return {
    write(chunk) {
      if (chunk.bytes.length === 0) return;
      context[chunk.stream].write(chunk.bytes);
      last = chunk;
    },
    end() {
      if (last !== undefined && last.bytes.at(-1) !== NEWLINE && context[last.stream].isTTY === true)
        context[last.stream].write('\n');
    },
  };
}

/** Maximum number of bytes of output that are buffered for sorting. */
const SORTED_BYTES_MAX = 64 * 1024 * 1024;

/** Says on stderr where the output of another attempt of a task begins. */
export function withAttempts(context: Context, sink: OutputSink): OutputSink {
  const shown = new Map<number, number>();
  return {
    write(chunk) {
      const { task, attempt } = chunk;
      const before = shown.get(task);
      if (before !== undefined && before !== attempt) context.note(`task ${task}: attempt ${attempt} begins`);
      shown.set(task, attempt);
      sink.write(chunk);
    },
    end: () => sink.end(),
  };
}

/**
 * Writes bytes unchanged, task by task, when the output ends: the last attempt of each task. Output beyond `bytesMax`
 * is not buffered but written line by line as it arrives.
 */
export function sortedOutput(context: Context, bytesMax = SORTED_BYTES_MAX): OutputSink {
  const raw = rawOutput(context);
  const lines = wholeLines((line) => raw.write(line));
  let kept: PrintedChunk[] | undefined = [];
  let bytes = 0;
  const release = (): void => {
    for (const chunk of inTaskOrder(lastAttempts(kept ?? []))) raw.write(chunk);
    kept = undefined;
  };
  return {
    write(chunk) {
      if (kept === undefined) return lines.write(chunk);
      kept.push(chunk);
      bytes += chunk.bytes.length;
      if (bytes <= bytesMax) return;
      release();
      context.note('too much output to sort: the rest is printed in order of arrival');
    },
    end() {
      release();
      lines.end();
      raw.end();
    },
  };
}

function lastAttempts(chunks: readonly PrintedChunk[]): PrintedChunk[] {
  const last = new Map<number, number>();
  for (const { task, attempt } of chunks) last.set(task, Math.max(attempt, last.get(task) ?? 0));
  return chunks.filter(({ task, attempt }) => attempt === last.get(task));
}

/**
 * Sorts output by task and keeps the order within a task.
 *
 * @param chunks in the order of arrival
 */
export function inTaskOrder(chunks: readonly PrintedChunk[]): PrintedChunk[] {
  return [...chunks].sort((a, b) => a.task - b.task);
}

/** Writes lines after their task, their time or both: `task 17 | 2026-11-30T08:15:00.250Z …`. Lines of tasks never mix. */
export function prefixedOutput(
  context: Context,
  { tasks, times }: { readonly tasks: boolean; readonly times: boolean },
): OutputSink {
  return wholeLines((chunk) => {
    const isColored = chunk.stream === 'stdout' ? context.color : context.errorColor;
    const prefix = `${tasks ? prefixOf(chunk, isColored) : ''}${times ? `${timeOf(chunk) ?? NO_TIME} ` : ''}`;
    const ending = chunk.bytes.at(-1) === NEWLINE ? [] : [Uint8Array.of(NEWLINE)];
    context[chunk.stream].write(Buffer.concat([Buffer.from(prefix), chunk.bytes, ...ending]));
  });
}

/** Stands for an unknown time, at the same width. */
const NO_TIME = '-'.padEnd('2026-11-30T08:15:00.250Z'.length);

function timeOf({ at }: PrintedChunk): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

/** Writes `goshawk.log/1`, one JSON value per line; bytes that are not UTF-8 are base64. */
export function jsonOutput(context: Context, job: string): OutputSink {
  return wholeLines((line) => {
    const { task, attempt, stream, bytes } = line;
    const content = textOf(bytes);
    const shown = typeof content === 'string' ? { text: content } : content;
    context.json({ schema: 'goshawk.log/1', job, task, attempt, stream, at: timeOf(line) ?? null, ...shown });
  });
}

/**
 * Assembles the chunks of each attempt's streams into lines, with the time at which they began.
 *
 * @param show receives lines with their newline; only the last line of a stream and parts of very long lines
 * have none
 */
export function wholeLines(show: (line: PrintedChunk) => void): OutputSink {
  const open = new Map<string, { chunk: PrintedChunk; parts: Uint8Array[]; length: number }>();
  const showLine = (chunk: PrintedChunk, parts: readonly Uint8Array[]): void => {
    show(parts.length === 1 ? { ...chunk, bytes: parts[0]! } : { ...chunk, bytes: Buffer.concat(parts) });
  };
  return {
    write(chunk) {
      const key = `${chunk.task}/${chunk.attempt}/${chunk.stream}`;
      for (let from = 0; from < chunk.bytes.length; ) {
        const newline = chunk.bytes.indexOf(NEWLINE, from);
        const end = newline < 0 ? chunk.bytes.length : newline + 1;
        const line = open.get(key) ?? { chunk, parts: [], length: 0 };
        line.parts.push(chunk.bytes.subarray(from, end));
        line.length += end - from;
        if (newline >= 0 || line.length >= LINE_BYTES_MAX) {
          open.delete(key);
          showLine(line.chunk, line.parts);
        } else {
          open.set(key, line);
        }
        from = end;
      }
    },
    end() {
      for (const { chunk, parts } of open.values()) showLine(chunk, parts);
      open.clear();
    },
  };
}

/** SGR codes of colors that are legible on light and dark backgrounds. */
const TASK_COLORS = [36, 33, 32, 35, 34, 31];

function prefixOf({ task, attempt }: PrintedChunk, isColored: boolean): string {
  const prefix = `task ${task}${attempt > 1 ? ` (attempt ${attempt})` : ''} |`;
  if (!isColored) return `${prefix} `;
  return `\u001b[${TASK_COLORS[task % TASK_COLORS.length]}m${prefix}\u001b[39m `;
}
