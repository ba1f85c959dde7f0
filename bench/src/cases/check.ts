import { isDeepStrictEqual } from 'node:util';
import { CASE_KINDS } from './kinds.js';

interface CaseLine {
  readonly file: string;
  readonly policy: string;
  readonly name: string | undefined;
  readonly ok: boolean;
  readonly expected: unknown;
  readonly got: unknown;
}

/** @throws TypeError where the text is no JSON object, or no kind accepts it */
export function checkFile(file: string, text: string): CaseLine[] {
  const content = parsed(file, text);
  const kind = CASE_KINDS.find((one) => one.accepts(content));
  if (kind === undefined) throw new TypeError(`${file}: no kind of cases has these fields`);
  return [...kind.check(content)].map(({ policy, name, expected, got, ok }) => ({
    file,
    policy: policy ?? kind.policy,
    name,
    ok: ok ?? isDeepStrictEqual(got, expected),
    expected,
    got,
  }));
}

function parsed(file: string, text: string): Record<string, unknown> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new TypeError(`${file}: ${(error as Error).message}`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new TypeError(`${file}: not a JSON object`);
  }
  return content as Record<string, unknown>;
}
