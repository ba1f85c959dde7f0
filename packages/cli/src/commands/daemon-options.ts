import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type Context,
  ExitCode,
  type OptionSpecs,
  type Resolved,
  readGivenFile,
  whenAborted,
  whenOrphaned,
} from '@goshawk/command';
import { DAEMON_OPTIONS, type DaemonIsUp, type NOTIFY_OPTIONS } from '@goshawk/command/cluster';
import { decodeText, InputError, type Millis, TIMER_MAX_MS, whyUnread } from '@goshawk/core';
import type { Daemon, HttpOptions, NotifyOptions } from '@goshawk/runtime';
import type { HttpTimes } from '@goshawk/transport';
import { outliveTerminal } from './outlive-terminal.js';

/**
 * Returns the notification options of a scheduler.
 *
 * @param hasKeys whether the cluster has keys, so that its users need not trust each other
 * @throws InputError for a file that is missing, empty or readable by others
 */
export async function notifyOptions(
  context: Context,
  { notifyHosts, notifySecretFile, notifyCommand: command }: NotifyFlags,
  hasKeys: boolean,
): Promise<NotifyOptions> {
  const hosts = notifyHosts ?? (hasKeys ? '' : '*');
  const path = notifySecretFile === undefined ? undefined : resolve(context.cwd, notifySecretFile);
  const secret =
    path === undefined ? undefined : (await readSecret(context, path, '--notify-secret-file')).trim();
  if (secret === '')
    throw new InputError(
      'bad-token',
      `--notify-secret-file: ${path} is empty`,
      'write a random secret to it',
    );
  return {
    hosts: hosts
      .split(',')
      .map((host) => host.trim())
      .filter((host) => host !== ''),
    secret,
    command,
  };
}

type NotifyFlags = Readonly<Record<keyof typeof NOTIFY_OPTIONS, string | undefined>>;

/** @throws InputError for a token file that is missing, readable by others, or without a token */
export async function httpOptions(
  context: Context,
  options: Readonly<Record<'http' | 'httpTokenFile' | 'httpPortFile', string | undefined>>,
): Promise<HttpOptions | undefined> {
  const { environment, cwd } = context;
  const { http: bind, httpTokenFile: file, httpPortFile } = options;
  if (bind === undefined) return undefined;
  const given = environment.GOSHAWK_HTTP_TOKEN || undefined;
  const portFile = httpPortFile && resolve(cwd, httpPortFile);
  if (file === undefined) return { bind, token: given && checkToken(given, 'GOSHAWK_HTTP_TOKEN'), portFile };
  const path = resolve(cwd, file);
  const token = (await readSecret(context, path, '--http-token-file')).trim();
  return { bind, token: checkToken(token, `--http-token-file: ${path}`), portFile };
}

/** Options of processes that are not members of the cluster, and serve their health on a port of its own. */
export const HEALTH_OPTIONS = {
  http: {
    ...DAEMON_OPTIONS.http,
    describe: 'serve /livez, /readyz and /metrics over HTTP, on a port of their own (default: no HTTP)',
  },
  httpTokenFile: DAEMON_OPTIONS.httpTokenFile,
  httpPortFile: DAEMON_OPTIONS.httpPortFile,
} as const satisfies OptionSpecs;

/**
 * Serves the health of such a process until it is disposed of.
 *
 * @param isSealed see `HttpOptions`
 * @param notReady returns the reasons why the process is not ready
 * @param times see `HttpOptions`
 */
export async function healthPort(
  context: Context,
  options: Resolved<typeof HEALTH_OPTIONS>,
  isSealed: boolean,
  notReady: () => readonly string[],
  times?: HttpTimes,
): Promise<AsyncDisposable> {
  const http = await httpOptions(context, options);
  if (http === undefined) return { [Symbol.asyncDispose]: async () => {} };
  const { openHealthPort } = await import('@goshawk/runtime');
  return openHealthPort({ ...http, isSealed, times }, notReady, context.note);
}

/** Returns the absolute path of the audit log. */
export function auditLogOf(
  { cwd }: Context,
  { auditLog }: { readonly auditLog: string | undefined },
): string | undefined {
  return auditLog === undefined ? undefined : resolve(cwd, auditLog);
}

/**
 * Reads a file that only its owner can read.
 *
 * @param option name of the option, for errors
 * @throws InputError if the file is missing or readable by others; the reason of `interrupted`
 */
export async function readSecret(
  { interrupted }: Pick<Context, 'interrupted'>,
  path: string,
  option: string,
): Promise<string> {
  const { checkOwner } = await import('@goshawk/transport');
  const failed = (why: string, cause: unknown) =>
    new InputError('bad-token', `${option}: cannot read ${path}: ${why}`, '', { cause });
  try {
    checkOwner(path, statSync(path));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw failed(whyUnread(error), error);
  }
  return decodeText(await readGivenFile(path, interrupted, failed), `${option}: ${path}`);
}

function checkToken(token: string, source: string): string {
  if (/^[\x21-\x7e]{16,512}$/.test(token)) return token;
  throw new InputError(
    'bad-token',
    `${source} does not contain a token of 16 to 512 printable ASCII characters without spaces`,
    'create one with `openssl rand -hex 32`',
  );
}

/**
 * Runs a daemon until it exits. The first SIGTERM or Ctrl-C drains it, the second stops it immediately. After
 * `drainTimeout` it leaves the cluster and stops, before the grace period of its supervisor ends.
 *
 * @param options `drainTimeout` in ms
 * @returns the exit code
 */
export async function keep(
  daemon: Daemon,
  context: Context,
  { withParent, drainTimeout }: { readonly withParent: boolean; readonly drainTimeout: Millis | undefined },
): Promise<number> {
  outliveTerminal();
  if (context.global.json) {
    const { role, endpoint } = daemon;
    context.json({ schema: 'goshawk.daemon/1', role, endpoint } satisfies DaemonIsUp);
  }
  const logged = logExit(daemon);
  const asked = whenAborted(context.interrupted).then(() => 'drain' as const);
  const orphaned = whenOrphaned(withParent).then(() => 'stop' as const);
  const first = await Promise.race([asked, orphaned, daemon.ended]);
  let why: ExitReason = { reason: 'closed', message: 'exits: it was closed' };
  if (first === 'drain') why = await drain(daemon, context, drainTimeout, orphaned);
  else if (first === 'stop') {
    await daemon.stop();
    why = ORPHANED;
  }
  const reason = await daemon.ended;
  logged(reason.kind === 'failed' ? failedWith(reason.error) : why);
  // Open handles (a signal handler, a pipe) must not keep a finished daemon alive.
  process.stdin.destroy();
  if (reason.kind === 'failed' && reason.error instanceof InputError) throw reason.error;
  return reason.kind === 'failed' ? ExitCode.failed : ExitCode.done;
}

/** Why a daemon exits, for its log. */
interface ExitReason {
  readonly reason:
    | 'drained'
    | 'stopped'
    | 'drain-timeout'
    | 'parent-exited'
    | 'closed'
    | 'failed'
    | 'interrupted';
  readonly message: string;
}

const ORPHANED: ExitReason = {
  reason: 'parent-exited',
  message: 'exits: the process that started it exited',
};

function failedWith({ message }: Error): ExitReason {
  return { reason: 'failed', message: `exits after a failure: ${message}` };
}

/** Logs one line when the process exits, to distinguish a stop from a crash. @returns logs the line */
function logExit({ logger }: Daemon): (why: ExitReason) => void {
  const log = ({ reason, message }: ExitReason): void => {
    process.off('exit', atExit);
    const isExpected = reason !== 'failed' && reason !== 'interrupted';
    logger[isExpected ? 'info' : 'error']({ event: 'exit', reason }, message);
  };
  // After a second signal or an uncaught error, nothing else runs.
  const atExit = (code: number): void => {
    // Something in the process called `process.exit(0)`, which a supervisor would take for a stop.
    if (code === ExitCode.done) process.exitCode = ExitCode.failed;
    log({
      reason: 'interrupted',
      message: `exits with code ${process.exitCode ?? code} before it has stopped: after a second signal or an unexpected error`,
    });
  };
  process.on('exit', atExit);
  return log;
}

async function drain(
  daemon: Daemon,
  { interrupted: { reason: signal } }: Context,
  timeoutMs: Millis | undefined,
  orphaned: Promise<'stop'>,
): Promise<ExitReason> {
  if (timeoutMs === 0) {
    await daemon.stop();
    return { reason: 'stopped', message: `exits: stopped by ${signal}` };
  }
  let why: ExitReason = { reason: 'drained', message: `exits: drained after ${signal}` };
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<ExitReason>((resolve) => {
    const message = `exits: not drained within --drain-timeout after ${signal}`;
    const late: ExitReason = { reason: 'drain-timeout', message };
    if (timeoutMs !== undefined) timer = setTimeout(() => resolve(late), Math.min(timeoutMs, TIMER_MAX_MS));
  });
  const tooLong = Promise.race([orphaned.then(() => ORPHANED), timedOut]).then((cause) => {
    why = cause;
    return daemon.stop();
  });
  await Promise.race([daemon.drain(), tooLong, daemon.ended]);
  clearTimeout(timer);
  return why;
}
