import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { InputError } from '@goshawk/core';

const REPLACEMENT = '\ufffd';

/**
 * Rejects arguments that are not UTF-8. Node.js replaces invalid bytes with U+FFFD, so the command would use
 * a wrong file name. Linux exposes the original bytes.
 *
 * @param argv arguments as Node.js decodes them
 * @throws InputError for an argument that is not UTF-8
 */
export function checkArguments(argv: readonly string[]): void {
  if (!argv.some((word) => word.includes(REPLACEMENT))) return;
  const bad = rawParts('/proc/self/cmdline').find((part) => !isUtf8(part));
  if (bad === undefined) return;
  throw new InputError(
    'bad-text',
    `the argument ${JSON.stringify(bad.toString())} is not valid UTF-8`,
    'pass other bytes in a file: --stdin FILE or --each-line FILE',
  );
}

/** Returns the names of variables whose values are not UTF-8. */
export function unreadableVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  if (!Object.values(environment).some((value) => value?.includes(REPLACEMENT))) return [];
  return rawParts('/proc/self/environ')
    .filter((part) => !isUtf8(part))
    .map((part) => part.toString().split('=')[0]!);
}

/** Splits a file at NUL bytes; empty if it does not exist. */
function rawParts(file: string): Buffer[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return [];
  }
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from);
    parts.push(bytes.subarray(from, end < 0 ? bytes.length : end));
    from = end < 0 ? bytes.length : end + 1;
  }
  return parts;
}
