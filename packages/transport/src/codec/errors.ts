/**
 * A message that does not match its declaration. A `DecodeError` is a fault of the peer, an `EncodeError` of this
 * process.
 */
class MessageError extends Error {
  /** Path in the message, e.g. `probe.demand.memory` or `members.changed[3].slots`. */
  readonly path: string;
  /** The problem. It never quotes text or bytes of the message, which may be long or secret. */
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
    this.problem = problem;
  }
}

/** A peer sent data that is not a message, or a message that it may not send. */
export class DecodeError extends MessageError {
  override name = 'DecodeError';

  /** Has no stack trace: capturing one costs ten times as much as decoding. */
  constructor(path: string, problem: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(path, problem);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A machine of this process sent a message that does not match its declaration. */
export class EncodeError extends MessageError {
  override name = 'EncodeError';
}

/**
 * A value that does not match its declaration. It is thrown by the field that detected the problem, and collects the
 * path on the way up. It is not an `Error`, because invalid input from a peer must not cost a stack trace.
 */
export class Mismatch {
  readonly problem: string;
  /** Segments of the path, innermost first. */
  readonly #segments: string[] = [];

  constructor(problem: string) {
    this.problem = problem;
  }

  under(segment: string): this {
    this.#segments.push(segment);
    return this;
  }

  get path(): string {
    return this.#segments.toReversed().join('');
  }
}

/** Always throws a Mismatch, for example `expected a number, got text`. */
export function mismatch(expected: string, value: unknown): never {
  throw new Mismatch(`expected ${expected}, got ${describe(value)}`);
}

/** Rethrows an error of the field `segment`, with the segment added to its path. */
export function rethrowWithPath(segment: string, thrown: unknown): never {
  throw thrown instanceof Mismatch ? thrown.under(segment) : thrown;
}

/** Describes the kind of a value, never its contents, except for numbers, which are short. */
function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'a flag';
  if (value instanceof Uint8Array) return 'bytes';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
