import { isDeepStrictEqual } from 'node:util';
import { parseExactJson } from '@goshawk/core';
import { CARBYNE_CASES } from './carbyne.js';
import { FieldError } from './fields.js';
import type { CaseContent, CaseKind, CheckedCase } from './kind.js';
import { PACKING_CASES } from './packing.js';
import { THREE_SIGMA_CASES } from './three-sigma.js';

/** The first kind that accepts a file checks it. */
const CASE_KINDS: readonly CaseKind[] = [...PACKING_CASES, ...THREE_SIGMA_CASES, ...CARBYNE_CASES];

interface CaseLine {
  readonly file: string;
  readonly policy: string;
  readonly name: string | undefined;
  readonly ok: boolean;
  readonly expected: unknown;
  readonly got: unknown;
}

/** @throws TypeError or InputError if the text is not a JSON object, or no kind accepts it */
export function checkFile(file: string, text: string): CaseLine[] {
  const content = parsed(file, text);
  const kind = CASE_KINDS.find((one) => one.accepts(content));
  if (kind === undefined) throw new TypeError(`${file}: these fields match no kind of cases`);
  let checked: CheckedCase[];
  try {
    checked = [...kind.check(content)];
  } catch (error) {
    const { message } = error as Error;
    const problem =
      error instanceof FieldError ? message : `a field is missing or has another type (${message})`;
    throw new TypeError(`${file}: ${problem}`, { cause: error });
  }
  return checked.map(({ policy, name, expected, got, ok }) => ({
    file,
    policy: policy ?? kind.policy,
    name,
    ok: ok ?? isDeepStrictEqual(got, expected),
    expected,
    got,
  }));
}

function parsed(file: string, text: string): CaseContent {
  const content = parseExactJson(text, { code: 'bad-case', name: file, hint: '' });
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new TypeError(`${file}: not a JSON object`);
  }
  return content as CaseContent;
}
