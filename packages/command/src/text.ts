import { InputError } from '@goshawk/core';

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

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
const NEWLINE = 0x0a;

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
