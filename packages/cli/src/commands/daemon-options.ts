import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { InputError, LOG_LEVELS, type Millis, TIMER_MAX_MS, whyUnread } from '@goshawk/core';
import type { Daemon, HttpOptions, NotifyOptions } from '@goshawk/runtime';
import { ExitCode } from '../command.js';
import type { Context } from '../context.js';
import { whenAborted, whenOrphaned } from '../interruption.js';
import type { DaemonIsUp } from '../local/child.js';
import type { OptionSpecs } from '../options.js';
import { decodeText } from '../text.js';

/** Options of every daemon. */
export const DAEMON_OPTIONS = {
  advertise: {
    type: 'text',
    value: 'URL',
    rare: true,
    describe:
      'address that other processes connect to, if they cannot reach --bind (default for 0.0.0.0: the only address of this machine)',
  },
  insecure: { type: 'flag', rare: true, describe: 'listen beyond loopback without keys' },
  http: {
    type: 'text',
    value: 'HOST:PORT',
    describe: 'serve /livez, /readyz, /metrics and /status over HTTP (default: no HTTP)',
  },
  httpTokenFile: {
    type: 'text',
    value: 'FILE',
    describe:
      'file with the bearer token for HTTP requests; required beyond loopback, and in a cluster with keys for all but /livez and /readyz (or set GOSHAWK_HTTP_TOKEN)',
  },
  httpPortFile: {
    type: 'text',
    value: 'FILE',
    rare: true,
    describe: 'write the HTTP port to FILE, for health checks with --http HOST:0',
  },
  auditLog: {
    type: 'text',
    value: 'FILE',
    describe:
      'append a JSON line to FILE for each request that changes something, each change of keys, and each rejection',
  },
  drainTimeout: {
    type: 'duration',
    describe: 'how long running work may take after SIGTERM; 0s stops at once (default: no limit)',
  },
  logLevel: {
    type: 'text',
    default: 'info',
    choices: LOG_LEVELS,
    value: 'LEVEL',
    describe: 'minimum log level',
  },
  withParent: {
    type: 'flag',
    flagOnly: true,
    rare: true,
    describe: 'exit when stdin closes, for parent processes',
  },
} as const satisfies OptionSpecs;

export const CENTRAL_PORT = 7070;

/** Options of schedulers and workers, which join a cluster. */
export const MEMBER_OPTIONS = {
  bind: {
    type: 'text',
    value: 'URL',
    default: 'tcp://127.0.0.1:0',
    describe: 'address to listen on; port 0 picks a free port',
  },
  centralUrl: {
    type: 'text',
    default: `tcp://127.0.0.1:${CENTRAL_PORT}`,
    value: 'URL',
    describe: 'address of central',
  },
} as const satisfies OptionSpecs;

/** An option of central, which a local cluster takes too. */
export const USERS_OPTION = {
  type: 'text',
  value: 'FILE',
  describe:
    'weights and limits of users, as {"ann": {"weight": 3, "running": 8}, "*": {"weight": 1}}; read again when the file changes',
} as const;

/** How long schedulers keep jobs that have ended. */
export const RETENTION_OPTIONS = {
  keep: { type: 'duration', default: '7d', describe: 'forget ended jobs after this time' },
  keepJobs: {
    type: 'count',
    default: 10_000,
    describe: 'ended jobs that each scheduler keeps for more than ten minutes; it forgets the oldest first',
  },
} as const satisfies OptionSpecs;

/** Option of schedulers and local clusters. */
export const JOURNAL_OPTION = {
  type: 'text',
  value: 'URL',
  describe:
    'PostgreSQL database (postgres://…) for the jobs of all schedulers, which take over the jobs of a lost scheduler (use GOSHAWK_JOURNAL to hide the password from `ps`)',
} as const;

/** Option of schedulers and local clusters. */
export const QUOTA_OPTION = {
  type: 'count',
  min: 1,
  describe:
    'maximum number of waiting tasks per user and scheduler; further jobs are refused (default: no limit)',
} as const;

/** How schedulers tell others that jobs have ended. */
export const NOTIFY_OPTIONS = {
  notifyHosts: {
    type: 'text',
    value: 'HOSTS',
    rare: true,
    describe: 'hosts that `submit --notify URL` may name: hooks.example.org,*.corp.example',
    whenUnset: 'any, and none where the cluster has keys',
  },
  notifySecretFile: {
    type: 'text',
    value: 'FILE',
    rare: true,
    describe: 'file of a secret that signs notifications (HMAC-SHA256 in X-Goshawk-Signature)',
  },
  notifyCommand: {
    type: 'text',
    value: 'COMMAND',
    rare: true,
    describe:
      'shell command that the scheduler runs when a job has ended, with the notification as JSON on stdin',
  },
} as const;

/**
 * How a scheduler notifies.
 * @param hasKeys whether the cluster has keys, so that its users need not trust each other
 * @throws InputError for a file that is missing, empty or readable by others
 */
export async function notifyOptions(
  { cwd }: Context,
  { notifyHosts, notifySecretFile, notifyCommand: command }: NotifyFlags,
  hasKeys: boolean,
): Promise<NotifyOptions> {
  const hosts = notifyHosts ?? (hasKeys ? '' : '*');
  const path = notifySecretFile === undefined ? undefined : resolve(cwd, notifySecretFile);
  const secret = path === undefined ? undefined : (await readSecret(path, '--notify-secret-file')).trim();
  if (secret === '')
    throw new InputError(
      'bad-token',
      `--notify-secret-file: ${path} is empty`,
      'write a random text into it',
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

/** Option of workers and of a whole local cluster. */
export const RUN_AS_OPTION = {
  type: 'text',
  default: 'self',
  choices: ['self', 'user', 'sandbox'],
  value: 'HOW',
  describe:
    'how commands run: as this worker (self), under the account that the submitter’s key is named after (user; the worker is root), or in a sandbox of bubblewrap (sandbox)',
} as const;

export const NETWORK_OPTION = {
  type: 'flag',
  default: true,
  rare: true,
  describe: 'let tasks use the network (off: --no-network, with --run-as sandbox; they have loopback alone)',
} as const;

export const SHADOW_OPTION = {
  type: 'text',
  value: 'NAMES',
  describe: 'score these estimators on every job without using their estimates: pilot,history,hybrid',
} as const;

/** @throws InputError for a file that is not there, that others may read, or that holds no token */
export async function httpOptions(
  { environment, cwd }: Context,
  options: Readonly<Record<'http' | 'httpTokenFile' | 'httpPortFile', string | undefined>>,
): Promise<HttpOptions | undefined> {
  const { http: bind, httpTokenFile: file, httpPortFile } = options;
  if (bind === undefined) return undefined;
  const given = environment.GOSHAWK_HTTP_TOKEN || undefined;
  const portFile = httpPortFile && resolve(cwd, httpPortFile);
  if (file === undefined) return { bind, token: given && checkToken(given, 'GOSHAWK_HTTP_TOKEN'), portFile };
  const path = resolve(cwd, file);
  const token = (await readSecret(path, '--http-token-file')).trim();
  return { bind, token: checkToken(token, `--http-token-file: ${path}`), portFile };
}

/** The file of the audit log, from the folder that the command was started in. */
export function auditLogOf(
  { cwd }: Context,
  { auditLog }: { readonly auditLog: string | undefined },
): string | undefined {
  return auditLog === undefined ? undefined : resolve(cwd, auditLog);
}

/**
 * Reads a file that only its owner can read.
 * @param option that names it
 * @throws InputError if the file is missing or readable by others
 */
export async function readSecret(path: string, option: string): Promise<string> {
  const { checkOwner } = await import('@goshawk/transport');
  try {
    checkOwner(path, statSync(path));
    return decodeText(readFileSync(path), `${option}: ${path}`);
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError('bad-token', `${option}: cannot read ${path}: ${whyUnread(error)}`, '', {
      cause: error,
    });
  }
}

function checkToken(token: string, source: string): string {
  if (/^[\x21-\x7e]{16,512}$/.test(token)) return token;
  throw new InputError(
    'bad-token',
    `${source} does not contain a token of 16 to 512 letters, digits and signs`,
    'create one with `openssl rand -hex 32`',
  );
}

/**
 * Keeps a daemon until it ends. The first SIGTERM or Ctrl-C drains it, the second stops it at once; so does the end
 * of `drainTimeout`, but the daemon leaves the cluster first, so that nothing has to kill it after a grace period.
 *
 * @param options `drainTimeout` in ms
 * @returns the exit code
 */
export async function keep(
  daemon: Daemon,
  context: Context,
  { withParent, drainTimeout }: { readonly withParent: boolean; readonly drainTimeout: Millis | undefined },
): Promise<number> {
  if (context.global.json) {
    const { role, endpoint } = daemon;
    context.json({ schema: 'goshawk.daemon/1', role, endpoint } satisfies DaemonIsUp);
  }
  const asked = whenAborted(context.interrupted).then(() => 'drain' as const);
  const orphaned = whenOrphaned(withParent).then(() => 'stop' as const);
  const first = await Promise.race([asked, orphaned, daemon.ended]);
  if (first === 'drain') await drain(daemon, drainTimeout, orphaned);
  else if (first === 'stop') await daemon.stop();
  const reason = await daemon.ended;
  // Open handles (a signal handler, a pipe) must not keep a finished daemon alive.
  process.stdin.destroy();
  if (reason.kind === 'failed' && reason.error instanceof InputError) throw reason.error;
  return reason.kind === 'failed' ? ExitCode.failed : ExitCode.done;
}

async function drain(
  daemon: Daemon,
  timeoutMs: Millis | undefined,
  orphaned: Promise<'stop'>,
): Promise<void> {
  if (timeoutMs === 0) return daemon.stop();
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<void>((resolve) => {
    if (timeoutMs !== undefined) timer = setTimeout(resolve, Math.min(timeoutMs, TIMER_MAX_MS));
  });
  const tooLong = Promise.race([orphaned, timedOut]).then(() => daemon.stop());
  await Promise.race([daemon.drain(), tooLong, daemon.ended]);
  clearTimeout(timer);
}
