import { didYouMean, InputError, LIMITS, nearest, outputPlaceholders } from '@goshawk/core';
import type { ParamAxis, Share } from './shares.js';

/** Use of a text as the path of an output file, in which workers fill in other placeholders. */
export const IN_PATH = 'be part of a path';
const OTHERS_PLACEHOLDER = /\{[^{}/]*\}/;

/** Matches `{{name}}`, which stands for a literal `{name}`, and `{name}`. */
const PLACEHOLDER = /\{\{([^{}]*)\}\}|\{([^{}]*)\}/g;

/** A name in braces that looks like a parameter. `${NAME}` is a variable of a shell. */
const IDENTIFIER = /^[A-Za-z_][\w.-]*$/;

/** A text of a command in which placeholders are filled in. */
export interface Template {
  readonly text: string;
  /** Its place, for errors: `the command`, `--stdout`. */
  readonly place: string;
  /** Whether the worker fills in `{job}`, `{index}` and `{attempt}`. */
  readonly isPath?: boolean;
}

/**
 * Checks that texts use every parameter and only known names, because a mistyped one would run silently.
 *
 * @throws InputError with the nearest name
 */
export function checkPlaceholders(
  templates: readonly Template[],
  share: Share,
  axes: readonly ParamAxis[],
): void {
  const names = Object.keys(share.named);
  if (names.length === 0) return;
  const used = new Set<string>();
  for (const { text, place, isPath = false } of templates) {
    for (const { 2: name, index } of text.matchAll(PLACEHOLDER)) {
      if (name === undefined) continue;
      if (name === '' && share.text === undefined) valueFor(name, share, 'be filled in');
      used.add(name);
      if (isName(name, share) || !IDENTIFIER.test(name) || text[index - 1] === '$') continue;
      if (isPath && outputPlaceholders.includes(`{${name}}`)) continue;
      const meant = nearest(name, names);
      throw new InputError(
        'bad-placeholder',
        `submit: {${name}} in ${place} is not a parameter${didYouMean(meant && `{${meant}}`)}`,
        `the parameters are ${names.join(', ')}; write {{${name}}} for a literal {${name}}`,
      );
    }
  }
  for (const { names: own, file } of axes) {
    if (own.some((name) => used.has(name))) continue;
    throw new InputError(
      'unused-param',
      file === undefined
        ? `--param ${own[0]}: the command does not contain {${own[0]}}`
        : `--param: the command contains no column of ${file}`,
      `write ${own.map((name) => `{${name}}`).join(' or ')} where the value belongs`,
    );
  }
}

/**
 * Reports whether a name has a value for each task: empty for `{}`, column numbers, and names. Other braces
 * are text.
 */
function isName(name: string, { columns, named }: Share): boolean {
  return name === '' || (columns.length > 0 && /^[1-9]\d*$/.test(name)) || Object.hasOwn(named, name);
}

/**
 * Reports whether a text has a placeholder that `--param` does not define.
 *
 * @param params names
 */
export function hasForeignPlaceholder(text: string, share: Share, params: readonly string[]): boolean {
  return [...text.matchAll(PLACEHOLDER)].some(
    ([, escaped, name]) => escaped === undefined && isName(name!, share) && !params.includes(name!),
  );
}

/**
 * Returns the text for one task: fills in `{}`, `{1}` and `{name}`, and removes the outer braces of `{{}}`,
 * `{{1}}` and `{{name}}`.
 *
 * @param use position of the text, for errors
 * @throws InputError if a value is not text, does not exist, or makes the text too long
 */
export function filledIn(text: string, share: Share, use = 'be part of an argument'): string {
  if (!text.includes('{')) return text;
  const filled = text.replaceAll(PLACEHOLDER, (whole, escaped: string | undefined, name: string) => {
    if (escaped !== undefined) return isEscaped(escaped, share) ? `{${escaped}}` : whole;
    if (!isName(name, share)) return whole;
    const value = valueFor(name, share, use);
    if (use === IN_PATH && OTHERS_PLACEHOLDER.test(value)) throw noPath(share, value);
    return value;
  });
  if (filled !== text && filled.length > LIMITS.argumentLengthMax) throw noText(share, 'is too long', use);
  return filled;
}

/** Whether `{name}` would be filled in or refused, so that `{{name}}` stands for it. */
function isEscaped(name: string, share: Share): boolean {
  return isName(name, share) || (Object.keys(share.named).length > 0 && IDENTIFIER.test(name));
}

function valueFor(name: string, share: Share, use: string): string {
  const { text, columns, named, where } = share;
  if (name === '') {
    if (text === undefined) {
      throw new InputError(
        'usage',
        '--param: {} has no value without --array or --each-line',
        'write {NAME} for a parameter, or {{}} for a literal {}',
      );
    }
    if ('problem' in text) throw noText(share, text.problem, use);
    return text.text;
  }
  const value = Object.hasOwn(named, name) ? named[name] : columns[Number(name) - 1];
  if (value !== undefined) return value;
  const have = `${columns.length} ${columns.length === 1 ? 'column' : 'columns'}`;
  throw new InputError(
    'bad-lines',
    `--each-line: ${where} has ${have}, but not {${name}}`,
    `write {{${name}}} for a literal {${name}}`,
  );
}

function noPath({ where }: Share, value: string): InputError {
  return new InputError(
    'bad-value',
    `submit: ${JSON.stringify(value)}, a value of ${where}, cannot ${IN_PATH}, because workers would fill in its braces`,
    'use {index}, the number of the task, in the path',
  );
}

export function noText({ where }: Share, problem: string, use: string): InputError {
  return new InputError(
    'bad-lines',
    `--each-line: ${where} ${problem}, so it cannot ${use}`,
    'a command can read it from stdin',
  );
}
