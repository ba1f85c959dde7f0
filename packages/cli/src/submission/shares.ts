import { InputError, LIMITS } from '@goshawk/core';
import { parseArray } from './array.js';

/** What one task of a job gets that the others do not. */
export interface Share {
  /** For errors: `line 17 of names.txt`. */
  readonly where: string;
  /** In place of `{}`, and in the variable; or why it cannot be text. */
  readonly text: { readonly text: string } | { readonly problem: string };
  /** A module's input. */
  readonly input: unknown;
  readonly variable: 'GOSHAWK_ARRAY_VALUE' | 'GOSHAWK_LINE';
  readonly stdin?: Uint8Array;
}

/** A share a value of --array. @throws InputError */
export function arrayShares(text: string): Share[] {
  return parseArray(text).map((value) => ({
    where: `value ${value}`,
    text: { text: `${value}` },
    input: value,
    variable: 'GOSHAWK_ARRAY_VALUE',
  }));
}

/**
 * A share a line, which is its stdin byte for byte.
 *
 * @param source names the file in errors
 * @throws InputError when there is no line, or more than a job may have tasks
 */
export function lineShares(bytes: Uint8Array, source: string): Share[] {
  const lines = splitLines(bytes);
  if (lines.length === 0) {
    throw new InputError('bad-lines', `--each-line: ${source} has no lines`, 'a job has a task at least');
  }
  if (lines.length > LIMITS.tasksPerJobMax) {
    throw new InputError(
      'bad-lines',
      `--each-line: ${source} has ${lines.length} lines; a job has at most ${LIMITS.tasksPerJobMax} tasks`,
      'split it into several jobs',
    );
  }
  return lines.map((line, index) => {
    const text = textOf(line);
    return {
      where: `line ${index + 1} of ${source}`,
      text,
      input: 'text' in text ? text.text : undefined,
      variable: 'GOSHAWK_LINE',
      stdin: line,
    };
  });
}

const NEWLINE = 0x0a;

/**
 * A file's lines as they are, each with its newline; the last one may have none. Put together they are the
 * file again, byte for byte. The lines are views of `bytes`.
 */
export function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline + 1;
    lines.push(bytes.subarray(from, end));
    from = end;
  }
  return lines;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Why a line cannot stand in an argument or a variable. */
type NoText = 'is not valid UTF-8' | 'holds a NUL byte';

/** The line without its newline, as text that a process can be given; else why not. */
export function textOf(line: Uint8Array): { readonly text: string } | { readonly problem: NoText } {
  const end = line.at(-1) === NEWLINE ? line.length - 1 : line.length;
  try {
    const text = UTF_8.decode(line.subarray(0, end));
    return text.includes('\0') ? { problem: 'holds a NUL byte' } : { text };
  } catch {
    return { problem: 'is not valid UTF-8' };
  }
}
