import {
  fileProblem,
  formatDuration,
  GoshawkError,
  InputError,
  type Millis,
  messageOfThrown,
  UnreachableError,
} from '@goshawk/core';
import { ExitCode } from './command.js';
import type { Context } from './context.js';
import { plain } from './terminal/paint.js';
import { withoutPasswords } from './without-passwords.js';

/** State of jobs after the command stops waiting for them. */
type Fate = 'goes on' | 'cancelled';

/** Reports that jobs have not ended within the timeout: exit code 124. */
export class WaitTimeoutError extends GoshawkError {
  override name = 'WaitTimeoutError';

  constructor(ids: readonly string[], timeoutMs: Millis, fate: Fate = 'goes on') {
    const have = ids.length === 1 ? 'has' : 'have';
    const message = `${ids.join(', ')} ${have} not ended within ${formatDuration(timeoutMs)}; ${fateOf(ids, fate)}`;
    super('wait-timeout', message, fate === 'goes on' ? `\`goshawk wait ${ids.join(' ')}\` waits again` : '');
  }
}

/** Reports Ctrl-C or SIGTERM while waiting for jobs: exit code 130 or 143. */
export class DetachedError extends GoshawkError {
  override name = 'DetachedError';
  readonly ids: readonly string[];
  readonly fate: Fate;

  constructor(ids: readonly string[], fate: Fate = 'goes on') {
    const which = ids.join(' ');
    const ways = `\`goshawk wait ${which}\` waits again, \`goshawk cancel ${which}\` cancels`;
    super('detached', `no longer waiting; ${fateOf(ids, fate)}`, fate === 'goes on' ? ways : '');
    this.ids = ids;
    this.fate = fate;
  }
}

function fateOf(ids: readonly string[], fate: Fate): string {
  if (fate === 'cancelled') return ids.length === 1 ? 'the job is cancelled' : 'the jobs are cancelled';
  return ids.length === 1 ? 'the job continues' : 'the jobs continue';
}

/** Reports Ctrl-C or SIGTERM during work without lasting effects: exit code 130 or 143. */
export class InterruptedError extends GoshawkError {
  override name = 'InterruptedError';

  /** @param what the interrupted work and its progress */
  constructor(what: string) {
    super('interrupted', `interrupted: ${what}`);
  }
}

export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Maximum number of characters of a message; input that it repeats may be long. */
const MESSAGE_MAX = 4_000;

/** Describes an error that ended a command, for people and programs. */
export function describeFailure(error: unknown): Failure {
  let failure: Failure;
  try {
    failure = wholeFailure(error);
  } catch {
    // Fields of a value that a module of the user threw may throw.
    failure = unexpected(messageOfThrown(error));
  }
  const { message } = failure;
  if (message.length <= MESSAGE_MAX) return failure;
  return {
    ...failure,
    message: `${message.slice(0, MESSAGE_MAX / 2)} … ${message.slice(-MESSAGE_MAX / 2)}`,
  };
}

function wholeFailure(error: unknown): Failure {
  if (error instanceof GoshawkError) {
    return { exitCode: exitCodeOf(error), code: error.code, message: error.message, hint: error.hint };
  }
  const text = messageOfThrown(error);
  // Errors of user-supplied files and folders are not bugs.
  const problem = fileProblem(error);
  if (problem !== undefined) {
    const { path, syscall = '' } = error as NodeJS.ErrnoException;
    const message = path === undefined ? text : `cannot ${VERBS[syscall] ?? syscall} ${path}: ${problem}`;
    const hint = 'check the path, its permissions, and the free space';
    return { exitCode: ExitCode.usage, code: 'bad-file', message, hint };
  }
  return unexpected(text);
}

function unexpected(text: string): Failure {
  return {
    exitCode: ExitCode.failed,
    code: 'internal',
    message: `unexpected: ${text}`,
    hint: 'run again with --verbose for the details',
  };
}

/** Verbs for system calls with names that users may not know; other names are used as verbs. */
const VERBS: Readonly<Record<string, string>> = {
  copyfile: 'copy',
  lstat: 'read',
  mkdir: 'create the folder',
  mkdtemp: 'create the folder',
  rmdir: 'delete the folder',
  scandir: 'list',
  stat: 'read',
  unlink: 'delete',
};

/** Returns one line with the message and the hint. */
function failureLine({ message, hint }: Pick<Failure, 'message' | 'hint'>): string {
  const line = hint === '' ? message : `${message}${message.endsWith('?') ? '' : ';'} ${hint}`;
  return `goshawk: ${withoutPasswords(line.replaceAll(/\s*\n\s*/g, ' '))}`;
}

/** Reports several failures on stderr, also with --quiet; the first is thrown, and determines the exit code. */
export function throwAll(
  { global, stderr }: Pick<Context, 'global' | 'stderr'>,
  problems: readonly unknown[],
): void {
  const [first, ...others] = problems;
  for (const problem of others) stderr.write(`${failureText(describeFailure(problem), global.json)}\n`);
  if (first !== undefined) throw first;
}

/** Returns a failure as JSON or as a line for people. */
export function failureText({ exitCode: _, ...failure }: Failure, isJson: boolean): string {
  if (isJson) return JSON.stringify({ schema: 'goshawk.error/1', ...failure });
  // The message may contain other users' text, such as an unknown worker name.
  return plain(failureLine(failure));
}

function exitCodeOf(error: GoshawkError): number {
  if (error instanceof InputError) return ExitCode.usage;
  if (error instanceof UnreachableError) return ExitCode.unreachable;
  if (error instanceof WaitTimeoutError) return ExitCode.waitTimedOut;
  if (error instanceof DetachedError || error instanceof InterruptedError) return ExitCode.interrupted;
  return ExitCode.failed;
}
