import { changedNumber, InputError } from '@goshawk/core';

/**
 * Parses JSON whose numbers keep their values.
 *
 * @param source name of the text, and code and hint of the error for invalid JSON
 * @throws InputError
 */
export function parseExactJson(
  text: string,
  { code, name, hint }: { readonly code: string; readonly name: string; readonly hint: string },
): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InputError(code, `${name}: not JSON: ${(error as Error).message}`, hint, { cause: error });
  }
  const number = changedNumber(text);
  if (number === undefined) return value;
  throw new InputError(
    code,
    `${name}: ${number.slice(0, 40)} would arrive as ${Number(number)}, because JavaScript numbers have 53 bits`,
    'write it as a string',
  );
}
