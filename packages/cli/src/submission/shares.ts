import { InputError, LIMITS } from '@goshawk/core';
import { parseArray } from './array.js';
import { splitLines, textOf } from './lines.js';

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
