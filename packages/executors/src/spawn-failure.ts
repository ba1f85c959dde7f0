import { type Stats, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { type FailureCode, failed, type Outcome } from './contract.js';
import { mayExecute } from './paths.js';

interface Attempt {
  readonly command: string;
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the job, not the worker, sets PATH. */
  readonly ownPath: boolean;
}

export const TOO_MANY_FILES: [FailureCode, string] = [
  'too-many-files',
  'too many open files: raise the limit (ulimit -n) or give the worker fewer --cpus',
];

/** Explains to the submitter why a command could not start. */
export function spawnFailure(error: NodeJS.ErrnoException, attempt: Attempt): Outcome {
  const [code, message] = explain(error, attempt);
  return failed(code, message);
}

function explain(error: NodeJS.ErrnoException, attempt: Attempt): [FailureCode, string] {
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EACCES':
      return explainPath(error.code, attempt);
    case 'E2BIG':
      return [
        'arguments-too-long',
        'the arguments and environment exceed the system’s limit: pass them on stdin or in a file',
      ];
    case 'EAGAIN':
      return [
        'process-limit',
        'too many processes: raise the limit (ulimit -u, pids.max) or give the worker fewer --cpus',
      ];
    case 'ENOMEM':
      return ['no-memory', `not enough memory to start "${attempt.command}"`];
    case 'EMFILE':
    case 'ENFILE':
      return TOO_MANY_FILES;
    default:
      return ['spawn-failed', `"${attempt.command}" did not start: ${error.code ?? error.message}`];
  }
}

/** Finds out which file is missing: the system reports ENOENT for a missing folder, command or interpreter. */
function explainPath(errorCode: string, { command, cwd, env, ownPath }: Attempt): [FailureCode, string] {
  const problem = cwd === undefined ? undefined : folderProblem(cwd);
  if (problem !== undefined) return problem;
  const file = findCommand(command, cwd, env.PATH);
  if (file === undefined) {
    const where = command.includes('/')
      ? 'does not exist on this worker'
      : `is not in the ${ownPath ? 'job' : 'worker'}'s PATH`;
    return ['command-not-found', `the command "${command}" ${where}`];
  }
  if (errorCode === 'ENOENT') {
    return ['command-not-found', `the interpreter that "${file}" names in its first line does not exist`];
  }
  return ['permission-denied', `"${file}" is not executable`];
}

/** Explains why a command cannot run in this folder; undefined: it can. */
export function folderProblem(cwd: string): [FailureCode, string] | undefined {
  const folder = statOf(cwd);
  if (folder === undefined)
    return [
      'no-such-folder',
      `the folder "${cwd}" does not exist on this worker; choose another with --cwd (cwd in a job file)`,
    ];
  if (!folder.isDirectory()) return ['no-such-folder', `"${cwd}" is not a folder on this worker`];
  if (!mayExecute(cwd))
    return ['permission-denied', `the folder "${cwd}" cannot be entered: permission denied`];
  return undefined;
}

function findCommand(command: string, cwd: string | undefined, path = '/usr/bin:/bin'): string | undefined {
  const base = cwd ?? '.';
  if (command.includes('/')) {
    const file = resolve(base, command);
    return statOf(file) && file;
  }
  const candidates = path.split(delimiter).map((folder) => resolve(base, folder, command));
  return candidates.find((file) => statOf(file)?.isFile());
}

/** Returns undefined if the file does not exist, or this process may not enter one of its parents. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
