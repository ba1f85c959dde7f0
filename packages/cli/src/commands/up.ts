import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Context, defineCommand, whenAborted } from '@goshawk/command';
import {
  ATTRIBUTE_OPTION,
  CPUS_OPTION,
  connect,
  DAEMON_OPTIONS,
  GPUS_OPTION,
  JOURNAL_OPTION,
  LocalCluster,
  MEMORY_OPTION,
  METRICS_USERS_OPTION,
  NETWORK_OPTION,
  NOTIFY_OPTIONS,
  parseAttributes,
  QUOTA_OPTION,
  RESOURCES_OPTION,
  RETENTION_OPTIONS,
  RUN_AS_OPTION,
  SHADOW_OPTION,
  sizeOfWorker,
  USERS_OPTION,
} from '@goshawk/command/cluster';
import { POLICY_OPTIONS, policySettings, shadowNames } from '@goshawk/command/policy';
import {
  counted,
  cutoffOrigin,
  cutoffWords,
  fileProblem,
  httpUrl,
  InputError,
  isLoopbackHost,
  LIMITS,
  makeFolder,
  type PolicySettings,
  parseBind,
  readRegularFile,
  sumOf,
  untrustedAt,
  type WaitingReason,
} from '@goshawk/core';
import type { FolderClaim } from '@goshawk/journal';
import type { RunAs } from '@goshawk/runtime';
import { someNames } from '../jobs/words.js';
import { otherPeople } from '../local/other-people.js';
import { onePolicy } from './central.js';
import { auditLogOf, httpOptions, notifyOptions } from './daemon-options.js';
import { outliveTerminal } from './outlive-terminal.js';

export const upCommand = defineCommand({
  name: 'up',
  describe: 'run a local cluster of real processes in the foreground',
  examples: [
    ['goshawk up --workers 20', 'then, in another terminal: goshawk submit --tasks 200 --sleep 50ms --wait'],
  ],
  needsNoCluster: true,
  modules: 'checked',
  options: {
    workers: {
      type: 'count',
      setting: true,
      default: 100,
      min: 1,
      max: 10_000,
      describe: 'number of workers',
    },
    schedulers: {
      type: 'count',
      setting: true,
      default: 2,
      min: 1,
      max: 1_000,
      describe: 'number of schedulers',
    },
    cpus: CPUS_OPTION,
    memory: { ...MEMORY_OPTION, rare: true },
    gpus: { ...GPUS_OPTION, rare: true },
    resources: RESOURCES_OPTION,
    attribute: ATTRIBUTE_OPTION,
    bind: {
      type: 'text',
      setting: true,
      value: 'URL',
      default: 'tcp://127.0.0.1:0',
      describe: 'address to listen on, of central; port 0 picks a free port',
    },
    dataFolder: {
      type: 'text',
      setting: true,
      value: 'FOLDER',
      default: '.goshawk',
      describe: 'folder for state that outlives the process: logs, journals and keys',
    },
    secure: {
      type: 'flag',
      setting: true,
      whenUnset: 'on if it listens beyond loopback, or other people have accounts on this machine',
      describe: 'encrypt traffic and accept only users who can read the keys (off: --no-secure)',
    },
    dashboard: {
      type: 'flag',
      setting: true,
      describe: 'serve the web page of `goshawk dashboard` and print its address',
    },
    http: {
      ...DAEMON_OPTIONS.http,
      describe:
        'serve /livez, /readyz, /metrics and /status over HTTP, of central, and /targets with the addresses of the other processes (default: no HTTP)',
    },
    httpTokenFile: DAEMON_OPTIONS.httpTokenFile,
    auditLog: DAEMON_OPTIONS.auditLog,
    runAs: {
      ...RUN_AS_OPTION,
      whenUnset:
        'self; sandbox if individual keys of clients are in its folder, or if it listens beyond loopback and bubblewrap works',
    },
    network: NETWORK_OPTION,
    journal: JOURNAL_OPTION,
    shadow: SHADOW_OPTION,
    userWaitingTasksMax: { ...QUOTA_OPTION, rare: true },
    metricsUsers: METRICS_USERS_OPTION,
    users: USERS_OPTION,
    ...NOTIFY_OPTIONS,
    ...RETENTION_OPTIONS,
    logLevel: { ...DAEMON_OPTIONS.logLevel, describe: 'minimum log level' },
    ...POLICY_OPTIONS,
  },
  async run(context, options) {
    outliveTerminal();
    shadowNames(options.shadow);
    parseAttributes(options.attribute);
    const policy = policySettings(options, onePolicy(options.policy));
    sizeOfWorker(options);
    const users = options.users === undefined ? undefined : resolve(context.cwd, options.users);
    // Reports a mistake in the file here rather than in central's log.
    if (users !== undefined) (await import('@goshawk/runtime')).readUsersFile(users);
    // Reports a mistake here rather than in the log of a scheduler.
    const isExposed = await isBeyondLoopback(options.bind);
    const others = options.secure === undefined && !isExposed ? otherPeople() : [];
    const secure = options.secure ?? (isExposed || others.length > 0);
    const dataFolder = resolve(context.cwd, options.dataFolder);
    const runAs = options.runAs ?? (secure ? await isolationFor(context, dataFolder, isExposed) : 'self');
    const { notifySecretFile } = options;
    const secretFile = notifySecretFile && resolve(context.cwd, notifySecretFile);
    // Each scheduler reads it again when it starts, and a pipe can be read only once.
    if (secretFile !== undefined)
      readRegularFile(fs, secretFile, (why, cause) => {
        const problem = `--notify-secret-file: cannot read ${secretFile}: ${why}`;
        return new InputError('bad-token', problem, 'write the secret to a file', { cause });
      });
    await notifyOptions(context, options, secure);
    const http = await httpOptions(context, { ...options, httpPortFile: undefined });
    const httpAt = http && httpAddress(http.bind);
    let url: string | undefined;
    const claim = await claimedFolder(dataFolder, () => url);
    try {
      const keys = secure ? await keyFolder(context, dataFolder) : undefined;
      const tokenFile =
        keys !== undefined && http?.token === undefined ? join(dataFolder, 'http.token') : undefined;
      context.note(
        `starting central, ${counted(options.schedulers, 'scheduler')} and ${counted(options.workers, 'worker')} …`,
      );
      const cluster = await LocalCluster.start(
        {
          ...options,
          runAs,
          executable: context.executable,
          journal: true,
          journalUrl: options.journal,
          auditLog: auditLogOf(context, options),
          // Whoever can submit a job can run commands as this user anyway.
          notifyHosts: options.notifyHosts ?? (runAs === 'self' ? '*,mail:*,command:*' : undefined),
          notifySecretFile: secretFile,
          policy,
          users,
          keys,
          http: http && { ...http, token: http.token ?? (tokenFile && httpToken(tokenFile)) },
          dataFolder,
          note: (line) => context.note(line),
        },
        context.interrupted,
      );
      url = cluster.url;
      const about = { cluster, keys, dataFolder, policy, httpAt, tokenFile: http && tokenFile };
      await serve(context, { ...about, others, isExposed, runAs });
    } finally {
      await claim.release();
    }
  },
});

/** Maximum number of other people that are named. */
const NAMED_MAX = 3;

interface Started {
  readonly cluster: LocalCluster;
  readonly keys: string | undefined;
  readonly dataFolder: string;
  readonly policy: PolicySettings;
  /** `http://HOST:PORT` of central. */
  readonly httpAt: string | undefined;
  /** File with the HTTP token, if this command created it. */
  readonly tokenFile: string | undefined;
  /** Accounts of other people, if they are the reason for the keys. */
  readonly others: readonly string[];
  /** Whether central listens beyond loopback. */
  readonly isExposed: boolean;
  readonly runAs: RunAs;
}

/** @throws InputError if the text is not an endpoint */
async function isBeyondLoopback(bind: string): Promise<boolean> {
  const { parseEndpoint } = await import('@goshawk/transport');
  try {
    return !isLoopbackHost(parseEndpoint(bind).host);
  } catch (error) {
    throw new InputError('bad-endpoint', `--bind: ${(error as Error).message}`, '', { cause: error });
  }
}

function keyFolderPath({ global, cwd }: Pick<Context, 'global' | 'cwd'>, dataFolder: string): string {
  return global.keys === undefined ? join(dataFolder, 'keys') : resolve(cwd, global.keys);
}

/**
 * Returns how tasks run unless `--run-as` says it. Tasks of several users must not run as this user: they could read all keys.
 *
 * @throws InputError if the folder has keys of other users and this machine has no sandbox
 */
async function isolationFor(context: Context, dataFolder: string, isExposed: boolean): Promise<RunAs> {
  const { readIndividuals } = await import('@goshawk/transport');
  const folder = keyFolderPath(context, dataFolder);
  const users = fs.existsSync(folder)
    ? readIndividuals(folder).flatMap(({ role, name }) => (role === 'client' ? [name!] : []))
    : [];
  if (!isExposed && users.length === 0) return 'self';
  if (await canSandbox()) return 'sandbox';
  if (users.length === 0) return 'self';
  throw new InputError(
    'bad-option',
    `${folder} has keys of other users (${someNames(users, NAMED_MAX)}), whose tasks would run as you and could read all keys, and bubblewrap does not work here`,
    'install bubblewrap, or accept that with --run-as self',
  );
}

/** Whether bubblewrap is installed and works. */
async function canSandbox(): Promise<boolean> {
  const { Isolation } = await import('@goshawk/runtime');
  try {
    new Isolation({ runAs: 'sandbox', hasKeys: true, hidden: [] });
    return true;
  } catch {
    return false;
  }
}

/**
 * Creates a token file that only this user can read, so that other accounts cannot read the metrics of a cluster with keys.
 */
function httpToken(file: string): string {
  const token = randomBytes(24).toString('base64url');
  fs.rmSync(file, { force: true });
  fs.writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' });
  return token;
}

/** @throws InputError for an invalid address, or one without a fixed port */
function httpAddress(bind: string): string {
  const place = parseBind(bind, '--http', '127.0.0.1:9090');
  if (place.port !== 0) return httpUrl(place);
  throw new InputError('bad-http', `--http ${bind} has no port`, 'for example 127.0.0.1:9090');
}

/** Prints the address of the cluster, and drains it after Ctrl-C. */
async function serve(context: Context, started: Started): Promise<void> {
  const { cluster, keys, dataFolder, policy, httpAt, tokenFile } = started;
  const { registerLocalCluster, unregisterLocalCluster } = await import('@goshawk/client');
  const { url, page } = cluster;
  const here = { url, keys, pid: process.pid, dataFolder, page, startedAt: Date.now() };
  let unregistered: string | undefined;
  try {
    registerLocalCluster(here, context.environment);
  } catch (error) {
    // The user may have no writable home folder.
    unregistered = fileProblem(error) ?? (error as Error).message;
  }
  try {
    if (context.global.json)
      context.json({
        schema: 'goshawk.up/1',
        cluster: cluster.url,
        dataFolder,
        dashboard: cluster.page ?? null,
        http: httpAt ?? null,
        httpTokenFile: tokenFile ?? null,
        keys: keys ?? null,
        cutoffSeconds: policy.cutoffMs / 1_000,
        cutoffJobs: policy.cutoffJobs,
      });
    announce(context, started);
    if (unregistered !== undefined)
      context.note(
        `commands find this cluster only from ${dirname(dataFolder)}, or with --cluster ${cluster.url}: ${unregistered}`,
      );
    await whenAborted(context.interrupted);
    const first = await unfinished(cluster.url, keys);
    context.note(
      `draining: no new jobs are accepted; ${first} (Ctrl-C again stops now; unfinished jobs resume at the next \`up\` here)`,
    );
    await cluster.drain();
  } catch (error) {
    await cluster.stop();
    throw error;
  } finally {
    unregisterLocalCluster(here, context.environment);
  }
}

/** Timeout (ms) of the requests in `unfinished`; short, because the user is waiting for the cluster to stop. */
const POLL_MS = 1_000;

/** Reasons for waiting that do not delay the end of a draining scheduler. */
const CANNOT_START: ReadonlySet<WaitingReason> = new Set(['required', 'held', 'begin']);

/** Describes the work that is finished before the cluster stops, including waiting tasks. */
async function unfinished(url: string, keys: string | undefined): Promise<string> {
  try {
    const signal = AbortSignal.timeout(POLL_MS);
    await using cluster = await connect(url, { keys, signal });
    const [{ jobs }, { waiting }] = await Promise.all([
      cluster.jobs({ states: ['running'], all: false, limit: LIMITS.jobsListedMax, signal }),
      cluster.waiting({ signal }),
    ]);
    const runs = sumOf(jobs, ({ tasks }) => tasks.running);
    const waits = sumOf(waiting, ({ tasks, reason }) => (CANNOT_START.has(reason) ? 0 : tasks));
    const kept = sumOf(waiting, ({ tasks }) => tasks) - waits;
    const later =
      kept === 0 ? '' : `, ${counted(kept, 'task')} that cannot start ${kept === 1 ? 'is' : 'are'} kept`;
    if (runs + waits === 0) return `no tasks are running or waiting${later}`;
    return `${counted(runs, 'running task')} and ${counted(waits, 'waiting task')} finish first${later}`;
  } catch {
    return 'running and waiting tasks finish first';
  }
}

/**
 * Claims a data folder, so that a second cluster cannot write to its logs and journals.
 *
 * @param url returns the URL of the cluster once it is up
 * @throws InputError that names the cluster that uses the folder
 */
async function claimedFolder(dataFolder: string, url: () => string | undefined): Promise<FolderClaim> {
  const { claimFolder } = await import('@goshawk/journal');
  try {
    checkOwnFolder(dataFolder);
    // The folder is private because logs and journals contain data of jobs.
    makeFolder(fs, dataFolder, 0o700);
    checkOwnFolder(dataFolder);
  } catch (error) {
    throw new InputError(
      'bad-data-folder',
      `cannot use the data folder ${dataFolder}: ${fileProblem(error) ?? (error as Error).message}`,
      'choose another with --data-folder',
      { cause: error },
    );
  }
  return claimFolder(dataFolder, {
    about: () => url() ?? 'it is starting',
    inUse: (folder, owner) =>
      new InputError(
        'already-up',
        `a cluster is already running from ${folder}${owner === '' ? '' : `: ${owner}`}`,
        'use that cluster (--cluster), stop it with Ctrl-C, or choose another --data-folder for this one',
      ),
  });
}

/** @throws Error if another user may have put keys or jobs there, or could put links in the place of its files */
function checkOwnFolder(folder: string): void {
  const untrusted = untrustedAt(fs, folder, process.geteuid?.(), 'caller');
  if (untrusted !== undefined) throw new Error(untrusted);
}

/**
 * Returns the key folder: that of `--keys`, or else the one in the data folder. In the latter, creates missing
 * keys.
 */
async function keyFolder({ global, cwd }: Context, dataFolder: string): Promise<string> {
  const { generateKeys, keysIn, readKeyFolder, writeKeyFolder } = await import('@goshawk/transport');
  const folder = keyFolderPath({ global, cwd }, dataFolder);
  if (global.keys === undefined && keysIn(folder).length === 0) writeKeyFolder(folder, generateKeys());
  readKeyFolder(folder);
  return folder;
}

function announce(context: Context, started: Started): void {
  const { cluster, keys, dataFolder, policy, httpAt, tokenFile, others } = started;
  const { url, page } = cluster;
  context.note(
    `the cluster is up at ${url} with policy ${policy.policy}; logs are in ${join(dataFolder, 'logs')}`,
  );
  if (page !== undefined) context.note(`its web page is at ${page}`);
  if (httpAt !== undefined)
    context.note(
      `central’s metrics are at ${httpAt}/metrics; ${httpAt}/targets lists the addresses of all processes`,
    );
  if (tokenFile !== undefined)
    context.note(`HTTP requests need the token in ${tokenFile} (Authorization: Bearer …)`);
  context.note(cutoffLine(policy));
  context.note(
    keys === undefined
      ? 'every user of this machine can run commands on it as you; --secure restricts it to users who can read its keys'
      : `connections are encrypted, and only users who can read ${join(keys, 'client.key')} can use it (--keys)`,
  );
  if (others.length > 0)
    context.note(
      `the reason: other people have accounts on this machine (${someNames(others, NAMED_MAX)}); --no-secure lets all of them use the cluster`,
    );
  const isolation = isolationLine(started);
  if (isolation !== undefined) context.note(isolation);
  context.note('in another terminal: goshawk submit --tasks 200 --sleep 50ms --wait');
  context.note('Ctrl-C drains and stops the cluster');
}

/** Describes what tasks may touch; undefined if they are those of this user alone. */
function isolationLine({ runAs, isExposed }: Started): string | undefined {
  if (runAs === 'sandbox')
    return 'tasks run in a sandbox, in which they see no folder except their working folder (--run-as self: as you)';
  if (runAs === 'user') return 'tasks run under the accounts of their submitters';
  return isExposed
    ? 'tasks of all clients run as you and see your files: --run-as sandbox, which needs bubblewrap, isolates them'
    : undefined;
}

/** Describes the cutoff, so that users know which estimates make a job long. */
function cutoffLine({ cutoffMs, cutoffJobs, estimator }: PolicySettings): string {
  const origin =
    cutoffJobs === null
      ? '--cutoff'
      : `${cutoffOrigin({ cutoffJobs })}, then derived from them; --cutoff sets it`;
  const from = cutoffWords(cutoffMs, origin);
  return estimator === 'given' ? `${from}; jobs without an --estimate count as short` : from;
}
