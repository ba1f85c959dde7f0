import { LIMITS } from './limits.js';

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

/**
 * A request to change something may have taken effect, or may still do so: there is no answer, or it is not yet written.
 * Exit code 3, HTTP status 504.
 */
export class OutcomeUnknownError extends UnreachableError {
  override name = 'OutcomeUnknownError';
}

/** Code of answers to changes that were applied and are not yet written. */
export const PENDING_CODE = 'journal-pending';

/** Quotes user input for an error message, truncated if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= QUOTED_MAX ? text : `${text.slice(0, QUOTED_MAX - 1)}…`);
}

const QUOTED_MAX = 64;

/** Describes why a file could not be read. @param error of Node's file system */
export function whyUnread(error: unknown): string {
  const { code, message } = error as Error & { readonly code?: string };
  return code === 'ENOENT' ? 'there is no such file' : (fileProblem(error) ?? message);
}

/** Describes an error of Node's file system; undefined for any other error. */
export function fileProblem(error: unknown): string | undefined {
  return FILE_PROBLEMS.get(textOf(() => (error as { readonly code: string }).code));
}

const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EDQUOT', 'the disk quota is exhausted'],
  ['EEXIST', 'it already exists'],
  ['EISDIR', 'it is a folder'],
  ['ELOOP', 'it is a symbolic link that leads to itself'],
  ['ENAMETOOLONG', 'the name is too long'],
  ['ENOENT', 'there is no such file or folder'],
  ['ENOSPC', 'the disk is full'],
  ['ENOTDIR', 'a part of the path is not a folder'],
  ['EPERM', 'the operation is not permitted'],
  ['EROFS', 'the file system is read-only'],
]);

/**
 * Describes a value that a custom policy or estimator threw, and its location: the first frame in its file, else the
 * first outside of Node.
 * @param path of that file
 */
export function describeThrownIn(thrown: unknown, path: string): string {
  const text = textOf(() => (thrown instanceof Error ? describeErrorIn(thrown, path) : String(thrown)));
  return text.slice(0, LIMITS.lineLengthMax);
}

/** Returns the message of an error, or the text of another thrown value. */
export function messageOfThrown(thrown: unknown): string {
  return textOf(() => (thrown instanceof Error ? thrown.message : String(thrown)));
}

/** Code of users may throw any value, also one without text, or whose fields throw. */
function textOf(describe: () => string): string {
  try {
    const text: unknown = describe();
    if (typeof text === 'string') return text;
  } catch {
    // Falls through.
  }
  return 'a value without text';
}

function describeErrorIn(thrown: Error, path: string): string {
  const frames = [...(thrown.stack ?? '').matchAll(/^\s+at (.*?)([^/\\(]+:\d+:\d+)\)?$/gm)];
  const places = frames.filter(([, before]) => !before!.includes('node:')).map(([, , place]) => place!);
  const file = `${path.slice(path.lastIndexOf('/') + 1)}:`;
  const place = places.find((each) => each.startsWith(file)) ?? places[0];
  return `${thrown.name}: ${thrown.message.replaceAll(/\s*\n\s*/g, ' ')}${place === undefined ? '' : ` (${place})`}`;
}
