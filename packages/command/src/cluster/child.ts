import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { GoshawkError, InputError } from '@goshawk/core';
import { ExitCode } from '../command.js';
import { START_FOLDER } from '../start-folder.js';
import { LogFile } from './log-file.js';

/** Characters of a process's stderr among which the reason of its end is looked for. */
const SAID_LENGTH_MAX = 16_384;
/** `process.cwd()` fails once the folder is gone. */
const STARTED_IN = process.cwd();
/** Lines of Node.js that follow the error of a process that could not start. */
const TRAILER = /^(?:Node\.js v\d|\s+at |\s*\^+\s*$|\{$|\}$|\s+\w+: .*,?$|$)/;
const ERROR_LINE = /^(?:Uncaught )?\w*Error\b.*: /;

/** The startup message of a daemon on stdout with --json. */
export interface DaemonIsUp {
  readonly schema: 'goshawk.daemon/1';
  readonly role: string;
  readonly endpoint: string;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly endpoint: string;
  readonly process: ChildProcess;
  /** Resolves with how it ended: an exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/**
 * Starts a daemon process and waits until it is up. The process ends when its stdin closes, so with this one. Its own
 * process group keeps Ctrl-C of the terminal away from it.
 *
 * @param args of Node: the script of the command and its arguments, such as `['goshawk.js', 'scheduler', '--name', 's0']`
 * @param logFile gets its log, and whatever else it writes to stderr
 * @param secrets variables that hold what other users of this machine must not see among its arguments
 * @param startFolder that its relative paths start from
 * @throws GoshawkError when it ends before it is up, with the reason from its log
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
  let said = '';
  const log = new LogFile(logFile);
  child.stderr!.on('data', (bytes: Buffer) => {
    log.write(bytes);
    said = (said + bytes.toString()).slice(-SAID_LENGTH_MAX);
  });
  child.stderr!.on('close', () => log.close());
  const up = new Promise<DaemonIsUp>((resolve, reject) => {
    const lines = createInterface({ input: child.stdout! });
    lines.once('line', (line) => {
      try {
        resolve(JSON.parse(line) as DaemonIsUp);
      } catch (cause) {
        reject(new GoshawkError('start-failed', `${name} said: ${line}`, '', { cause }));
      }
    });
    child.once('error', (error) =>
      reject(new GoshawkError('start-failed', `cannot start ${name}: ${error.message}`)),
    );
    void ended.then((how) => reject(startFailure(name, how, reasonIn(said), logFile)));
  });
  const { endpoint } = await up;
  return { name, pid: child.pid!, endpoint, process: child, ended };
}

/**
 * Why a process ended, from the end of what it wrote to stderr: the line of the error where Node.js wrote one with its stack,
 * else the last line.
 */
export function reasonIn(said: string): string {
  const lines = said.trimEnd().split('\n');
  if (!/^Node\.js v\d/.test(lines.at(-1)!)) return lines.at(-1)!;
  const error = lines.findLast((line) => ERROR_LINE.test(line));
  return error ?? lines.findLast((line) => !TRAILER.test(line)) ?? lines.at(-1)!;
}

/** Settings of this command are passed on as flags; its environment must not set them a second time. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('GOSHAWK_')));
}

/** Invalid options of a child, such as a port in use, are errors of this command's options. */
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

/** The message of a line that may be an error in JSON, or a line of the log. */
function readable(line: string): string {
  try {
    const { message, msg, hint } = JSON.parse(line) as Partial<Record<'message' | 'msg' | 'hint', string>>;
    return [message ?? msg ?? line, ...(hint ? [hint] : [])].join('; ');
  } catch {
    return line;
  }
}
