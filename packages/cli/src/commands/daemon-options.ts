import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { InputError } from '@goshawk/core';
import type { Daemon, HttpOptions } from '@goshawk/runtime';
import { ExitCode } from '../command.js';
import type { Context } from '../context.js';
import type { DaemonIsUp } from '../local/child.js';
import type { OptionSpecs } from '../options.js';

/**
 * Those of the runtime, written down here: what a daemon runs on takes longer to load than most commands take, so
 * it is loaded by whoever starts one.
 */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Options of every daemon. */
export const DAEMON_OPTIONS = {
  advertise: { type: 'text', describe: 'where others reach it, when that is not where it listens' },
  insecure: { type: 'flag', describe: 'listen beyond loopback without keys' },
  http: {
    type: 'text',
    describe: 'HOST:PORT for /livez, /readyz, /metrics and /status over HTTP (default: none of it)',
  },
  httpTokenFile: {
    type: 'text',
    describe: 'file of the token that HTTP asks for; beyond loopback it has to (or GOSHAWK_HTTP_TOKEN)',
  },
  logLevel: { type: 'text', default: 'info', choices: LOG_LEVELS, describe: 'how much the log says' },
  withParent: {
    type: 'flag',
    flagOnly: true,
    describe: 'end when stdin is closed: for whoever starts it as a child',
  },
} as const satisfies OptionSpecs;

/** How long schedulers keep jobs that have ended. */
export const RETENTION_OPTIONS = {
  keep: { type: 'duration', default: '7d', describe: 'forget jobs this long after their end' },
  keepJobs: {
    type: 'count',
    default: 10_000,
    describe: 'ended jobs that a scheduler keeps at most; the oldest go first',
  },
} as const satisfies OptionSpecs;

/** Of schedulers; the whole of a local cluster takes it too. */
export const SHADOW_OPTION = {
  type: 'text',
  describe: 'estimators to be asked about every job, and scored, without any effect: pilot,history,hybrid',
} as const;

export const CENTRAL_PORT = 7070;

/** @throws InputError for a file that is not there, or holds no token */
export function httpOptions(
  { environment, cwd }: Context,
  options: { readonly http: string | undefined; readonly httpTokenFile: string | undefined },
): HttpOptions | undefined {
  const { http: bind, httpTokenFile: file } = options;
  if (bind === undefined) return undefined;
  const token =
    file === undefined ? environment.GOSHAWK_HTTP_TOKEN || undefined : readToken(resolve(cwd, file));
  return { bind, token };
}

function readToken(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new InputError('bad-token', `--http-token-file: ${(error as Error).message}`, '', { cause: error });
  }
  if (/^[\x21-\x7e]{16,512}$/.test(token)) return token;
  throw new InputError(
    'bad-token',
    `--http-token-file: ${path} does not hold a token of 16 to 512 letters, digits and signs`,
    'such as `openssl rand -hex 32` makes',
  );
}

/**
 * Keeps a daemon until it ends. The first SIGTERM or Ctrl-C drains it, the second stops it at once.
 *
 * @returns the exit code
 */
export async function keep(daemon: Daemon, context: Context, withParent: boolean): Promise<number> {
  if (context.global.json) {
    const { role, endpoint } = daemon;
    context.json({ schema: 'goshawk.daemon/1', role, endpoint } satisfies DaemonIsUp);
  }
  const asked = new Promise<'drain'>((resolve) => {
    if (context.interrupted.aborted) resolve('drain');
    context.interrupted.addEventListener('abort', () => resolve('drain'));
  });
  const orphaned = new Promise<'stop'>((resolve) => {
    if (!withParent) return;
    process.stdin.on('end', () => resolve('stop')).on('error', () => resolve('stop'));
    process.stdin.resume();
  });
  const first = await Promise.race([asked, orphaned, daemon.ended]);
  if (first === 'drain') await Promise.race([daemon.drain(), orphaned.then(() => daemon.stop())]);
  else if (first === 'stop') await daemon.stop();
  const reason = await daemon.ended;
  // What is still open here (a signal handler, a pipe) must not keep a daemon that has ended.
  process.stdin.destroy();
  return reason.kind === 'failed' ? ExitCode.failed : ExitCode.done;
}
