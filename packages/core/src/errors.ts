/**
 * A failure outside of Goshawk: one line says what is wrong, and a hint says how to fix it. Programs match on
 * the stable code, which is the `code` of `goshawk.error/1`.
 */
export class GoshawkError extends Error {
  override name = 'GoshawkError';
  readonly code: string;
  readonly hint: string;

  constructor(code: string, message: string, hint = '', options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}

/** Invalid usage or input: exit code 2. */
export class InputError extends GoshawkError {
  override name = 'InputError';
}

/** The cluster, or a required part of it, does not answer: exit code 3. */
export class UnreachableError extends GoshawkError {
  override name = 'UnreachableError';
}

/** Quotes user input for an error message, truncated if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= QUOTED_MAX ? text : `${text.slice(0, QUOTED_MAX - 1)}…`);
}

const QUOTED_MAX = 64;

/** Describes why a file could not be read. @param error of Node's file system */
export function whyUnread(error: unknown): string {
  const { code, message } = error as Error & { readonly code?: string };
  if (code === 'ENOENT') return 'there is no such file';
  return code === 'EISDIR' ? 'it is a folder' : message;
}
