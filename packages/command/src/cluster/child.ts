import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { GoshawkError, InputError, type Role } from '@goshawk/core';
import { ExitCode } from '../command.js';
import { START_FOLDER } from '../start-folder.js';
import { LogFile } from './log-file.js';

/** Number of characters at the end of stderr that are searched for the reason of an exit. */
const STDERR_LENGTH_MAX = 16_384;
/** Current folder at the start. `process.cwd()` fails once the folder is deleted. */
const STARTED_IN = process.cwd();
/** Lines that Node.js prints after the error of a process that cannot start. */
const TRAILER = /^(?:Node\.js v\d|\s+at |\s*\^+\s*$|\{$|\}$|\s+\w+: .*,?$|$)/;
const ERROR_LINE = /^(?:Uncaught )?\w*Error\b.*: /;

/** The startup message of a daemon on stdout with --json. */
export interface DaemonIsUp {
  readonly schema: 'goshawk.daemon/1';
  readonly role: Exclude<Role, 'client'> | 'dashboard';
  readonly endpoint: string;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly endpoint: string;
  readonly process: ChildProcess;
  /** Resolves with the exit code, or with the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/**
 * Starts a daemon process and waits until it is up. It exits when its stdin closes, and thus when this
 * process exits. It runs in a separate process group, so Ctrl-C in the terminal does not reach it.
 *
 * @param args arguments of Node.js: the script and its arguments, such as `['goshawk.js', 'scheduler',
 * '--name', 's0']`
 * @param logFile receives everything that the process writes to stderr
 * @param secrets environment variables that other users of this machine must not see in the arguments
 * @param startFolder base folder of relative paths
 * @throws GoshawkError with the reason from its log if it exits before it is up
 */
export async function startChild(
  name: string,
  args: readonly string[],
  logFile: string,
  secrets: Readonly<Record<string, string>> = {},
  startFolder: string = STARTED_IN,
): Promise<Child> {
  const child = spawn(process.execPath, [...args, '--json', '--with-parent'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    cwd: '/',
    env: { ...withoutSettings(process.env), ...secrets, [START_FOLDER]: startFolder },
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ?? code ?? 1));
  });
  child.stdin!.on('error', () => {});
  let stderr = '';
  const log = new LogFile(logFile);
  child.stderr!.on('data', (bytes: Buffer) => {
    log.write(bytes);
    stderr = (stderr + bytes.toString()).slice(-STDERR_LENGTH_MAX);
  });
  child.stderr!.on('close', () => log.close());
  const up = new Promise<DaemonIsUp>((resolve, reject) => {
    const lines = createInterface({ input: child.stdout! });
    lines.once('line', (line) => {
      try {
        resolve(JSON.parse(line) as DaemonIsUp);
      } catch (cause) {
        reject(new GoshawkError('start-failed', `${name}: ${line}`, '', { cause }));
      }
    });
    child.once('error', (error) =>
      reject(new GoshawkError('start-failed', `cannot start ${name}: ${error.message}`)),
    );
    void ended.then((how) => reject(startFailure(name, how, reasonIn(stderr), logFile)));
  });
  const { endpoint } = await up;
  return { name, pid: child.pid!, endpoint, process: child, ended };
}

/**
 * Returns the reason why a process ended, from the end of its stderr: the error line if Node.js printed a
 * stack trace, else the last line.
 */
export function reasonIn(stderr: string): string {
  const lines = stderr.trimEnd().split('\n');
  if (!/^Node\.js v\d/.test(lines.at(-1)!)) return lines.at(-1)!;
  const error = lines.findLast((line) => ERROR_LINE.test(line));
  return error ?? lines.findLast((line) => !TRAILER.test(line)) ?? lines.at(-1)!;
}

/** Removes the settings of this command, which the child receives as flags. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('GOSHAWK_')));
}

/** Reports invalid options of a child, such as a port in use, as errors of this command's options. */
function startFailure(
  name: string,
  how: number | NodeJS.Signals,
  reason: string,
  logFile: string,
): GoshawkError {
  // A killed process may have printed nothing.
  const why = reason === '' ? '' : `: ${readable(reason)}`;
  if (how === ExitCode.usage) return new InputError('start-failed', `${name} cannot start${why}`);
  return new GoshawkError('start-failed', `${name} did not start (${how})${why}`, `see ${logFile}`);
}

/** Returns the message of a log line or of an error in JSON. */
function readable(line: string): string {
  try {
    const { message, msg, hint } = JSON.parse(line) as Partial<Record<'message' | 'msg' | 'hint', string>>;
    return [message ?? msg ?? line, ...(hint ? [hint] : [])].join('; ');
  } catch {
    return line;
  }
}
