import { InputError } from '../errors.js';
import { LIMITS } from '../limits.js';

/** Available in every supported JavaScript engine. */
declare const TextDecoder: new (
  encoding: string,
  options: { readonly fatal: boolean },
) => { decode(bytes: Uint8Array): string };

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
const NEWLINE = 0x0a;

/** Explains why a text cannot be passed to a process or encoded in UTF-8; undefined if it can. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'a NUL byte cannot be passed to a process';
  return wellFormedProblem(text);
}

/** Checks for lone surrogates, which UTF-8 cannot encode: they would arrive as other characters. */
export function wellFormedProblem(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'half of a character (a lone surrogate) cannot be passed on';
}

/** Length of the text in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts for two of its four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}

/**
 * Explains why a text cannot name a job, user, worker, attribute or resource; undefined if it can. Two names that look
 * the same would be two users, or a requirement that no worker meets.
 *
 * @param what subject of the sentence
 */
export function nameProblem(name: string, what = 'a name'): string | undefined {
  if (name.length > LIMITS.nameLengthMax) return `${what} has at most ${LIMITS.nameLengthMax} characters`;
  if (!/[^\p{Z}\p{Cc}\p{Cf}]/u.test(name)) return `${what} needs a visible character`;
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name))
    return `${what} has no line breaks, tabs or other control characters`;
  if (/^\p{Z}|\p{Z}$/u.test(name)) return `${what} does not begin or end with a space`;
  return wellFormedProblem(name);
}

/** Returns the text as a name: without control characters and surrounding spaces; undefined if nothing is left. */
export function asName(text: string): string | undefined {
  const name = text
    .replaceAll(/[\p{Z}\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, LIMITS.nameLengthMax)
    // The cut may have left half of a character, or a space at the end.
    .replace(/\p{Surrogate}$/u, '')
    .trimEnd();
  return nameProblem(name) === undefined ? name : undefined;
}

/**
 * Decodes a file, stdin or a request: UTF-8, without the byte order mark that some editors add.
 *
 * @param what name of the source, for the error
 * @throws InputError `bad-text` if it is not UTF-8, because replacement characters would corrupt the input
 */
export function decodeText(bytes: Uint8Array, what: string): string {
  try {
    return UTF_8.decode(bytes);
  } catch (error) {
    throw new InputError(
      'bad-text',
      `${what}: line ${lineOf(bytes)} is not valid UTF-8`,
      'convert it to UTF-8, for example with `iconv -f LATIN1 -t UTF-8`',
      { cause: error },
    );
  }
}

/** Returns the first line that is not UTF-8. No character spans two lines. */
function lineOf(bytes: Uint8Array): number {
  for (let line = 1, from = 0; ; line++) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline;
    try {
      UTF_8.decode(bytes.subarray(from, end));
    } catch {
      return line;
    }
    if (newline < 0) return line;
    from = newline + 1;
  }
}
