import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { formatDuration, isHostAllowed, type Millis, webHostOf } from '@goshawk/core';
import type { Job } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';

export interface NotifyOptions {
  /** Hosts that notifications may be sent to, as globs. */
  readonly hosts: readonly string[];
  /** Signing key; undefined: notifications are not signed. */
  readonly secret?: string | undefined;
  /** Shell command that runs for each ended job, with the notification on stdin. */
  readonly command?: string | undefined;
}

/** Delays before the second and later attempts. ms */
const PAUSES_MS = [1_000, 5_000, 25_000, 125_000];
const ANSWER_MS = 10_000;
const COMMAND_MS = 60_000;
/** Maximum number of notifications that are not delivered yet, in total and per host; more are dropped and logged. */
const PENDING_MAX = 10_000;
const PENDING_PER_HOST_MAX = 5_000;
/** Maximum number of concurrent requests per host. */
const REQUESTS_PER_HOST_MAX = 16;
/** Maximum number of concurrent commands, and of those that wait. */
const COMMANDS_MAX = 4;
const COMMANDS_WAITING_MAX = 1_000;

/** Notifications to one host. A host that hangs holds up only its own. */
interface Host {
  readonly name: string;
  pending: number;
  requests: number;
  readonly waiting: (() => void)[];
}

/**
 * Notifies others of ended jobs: a POST to the URL that the job names, and the operator's command. Failed requests are retried
 * for several minutes; a job that ends again meanwhile is reported after that. Pending notifications are lost when the
 * scheduler ends.
 */
export class Notifier {
  readonly #options: NotifyOptions;
  readonly #logger: Logger;
  readonly #wallNow: () => Millis;
  readonly #ending = new AbortController();
  #pending = 0;
  readonly #hosts = new Map<string, Host>();
  /** The last pending notification of each job. */
  readonly #lastOf = new Map<string, Promise<void>>();
  readonly #commands: (() => void)[] = [];
  #running = 0;

  readonly #pausesMs: readonly Millis[];
  readonly #commandMs: Millis;

  constructor(
    options: NotifyOptions,
    logger: Logger,
    wallNow: () => Millis,
    pausesMs = PAUSES_MS,
    commandMs = COMMAND_MS,
  ) {
    this.#pausesMs = pausesMs;
    this.#commandMs = commandMs;
    this.#options = options;
    this.#logger = logger;
    this.#wallNow = wallNow;
  }

  /** @param wallOffsetMs wall clock minus the clock of the job's times */
  jobEnded(job: Job, wallOffsetMs: Millis): void {
    const { notify } = job.spec;
    const { command } = this.#options;
    if (notify === undefined && command === undefined) return;
    const body = JSON.stringify(notificationOf(job, wallOffsetMs));
    if (notify !== undefined && this.#isAllowed(job.id, notify)) this.#post(job.id, notify, body);
    if (command !== undefined) this.#queue(job.id, command, body);
  }

  /** Returns whether the host is allowed now: the list may have changed since submission. */
  #isAllowed(job: string, url: string): boolean {
    if (isHostAllowed(url, this.#options.hosts)) return true;
    this.#logger.warn(
      { job, host: webHostOf(url) },
      'no notification is sent: --notify-hosts does not allow its host',
    );
    return false;
  }

  close(): void {
    this.#ending.abort();
    this.#commands.length = 0;
  }

  #post(job: string, url: string, body: string): void {
    const name = webHostOf(url)!;
    const host = this.#hosts.get(name) ?? { name, pending: 0, requests: 0, waiting: [] };
    if (this.#pending >= PENDING_MAX || host.pending >= PENDING_PER_HOST_MAX) {
      this.#logger.warn(
        { job, host: name },
        'the notification is dropped: too many others are not delivered yet',
      );
      return;
    }
    this.#pending++;
    host.pending++;
    this.#hosts.set(name, host);
    const before = this.#lastOf.get(job);
    const delivered = (before ?? Promise.resolve())
      .then(() => this.#deliver(job, url, body, host))
      .finally(() => {
        this.#pending--;
        if (--host.pending === 0) this.#hosts.delete(name);
        if (this.#lastOf.get(job) === delivered) this.#lastOf.delete(job);
      });
    this.#lastOf.set(job, delivered);
  }

  async #deliver(job: string, url: string, body: string, host: Host): Promise<void> {
    const { signal } = this.#ending;
    for (let attempt = 0; ; attempt++) {
      if (host.requests < REQUESTS_PER_HOST_MAX) host.requests++;
      else await new Promise<void>((go) => host.waiting.push(go));
      if (signal.aborted) return;
      const problem = await this.#attempt(url, body);
      const next = host.waiting.shift();
      if (next === undefined) host.requests--;
      else next();
      if (problem === undefined || signal.aborted) return;
      const waitMs = problem.isFinal ? undefined : this.#pausesMs[attempt];
      if (waitMs === undefined) {
        this.#logger.warn({ job, host: host.name }, `the notification was not delivered: ${problem.message}`);
        return;
      }
      await pause(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
    }
  }

  async #attempt(url: string, body: string): Promise<{ message: string; isFinal: boolean } | undefined> {
    const { secret } = this.#options;
    const time = Math.floor(this.#wallNow() / 1_000);
    const signature = secret === undefined ? undefined : signatureOf(secret, time, body);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'goshawk',
          ...(signature !== undefined && { 'x-goshawk-signature': signature }),
        },
        body,
        // A redirect could lead to a host that is not allowed.
        redirect: 'manual',
        signal: AbortSignal.any([AbortSignal.timeout(ANSWER_MS), this.#ending.signal]),
      });
      await response.body?.cancel();
      const { status } = response;
      if (status >= 200 && status < 300) return undefined;
      return { message: `the answer was ${status}`, isFinal: status < 500 && status !== 429 };
    } catch (error) {
      const { message, cause } = error as Error & { cause?: { message?: string } };
      return { message: cause?.message ?? message, isFinal: false };
    }
  }

  #queue(job: string, command: string, body: string): void {
    if (this.#commands.length >= COMMANDS_WAITING_MAX) {
      this.#logger.warn({ job }, `--notify-command is skipped: ${COMMANDS_WAITING_MAX} others wait for it`);
      return;
    }
    this.#commands.push(() => this.#run(job, command, body));
    this.#runNext();
  }

  #runNext(): void {
    if (this.#running >= COMMANDS_MAX || this.#ending.signal.aborted) return;
    this.#commands.shift()?.();
  }

  #run(job: string, command: string, body: string): void {
    this.#running++;
    let hasEnded = false;
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    const ended = (problem: string | undefined): void => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      this.#running--;
      if (problem !== undefined) this.#logger.warn({ job }, `--notify-command failed: ${problem}`);
      this.#runNext();
    };
    try {
      // A separate group, so that programs that the shell has started can be killed with it.
      const child = spawn('/bin/sh', ['-c', command], {
        stdio: ['pipe', 'ignore', 'ignore'],
        detached: true,
        cwd: '/',
      });
      timer = setTimeout(() => {
        isLate = true;
        killGroup(child.pid);
      }, this.#commandMs).unref();
      child.once('error', (error) => ended(error.message));
      child.once('exit', (code, signal) => {
        const how = isLate
          ? `it took longer than ${formatDuration(this.#commandMs)}`
          : `it ended with ${signal ?? code}`;
        ended(code === 0 ? undefined : how);
      });
      // A command that does not read stdin closes the pipe.
      child.stdin.on('error', () => {});
      child.stdin.end(`${body}\n`);
    } catch (error) {
      // If no file descriptors are free, the child has no stdin, and using it throws.
      ended((error as Error).message);
    }
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just exited.
  }
}

/** Returns the value of `X-Goshawk-Signature`: `t=SECONDS,sha256=HEX`, an HMAC of `SECONDS.BODY`. */
export function signatureOf(secret: string, seconds: number, body: string): string {
  return `t=${seconds},sha256=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

function notificationOf(job: Job, wallOffsetMs: Millis): object {
  const { id, spec, state, counts, acceptedAt, firstStartAt, endedAt } = job;
  const at = (ms: Millis | undefined): string | null =>
    ms === undefined ? null : new Date(ms + wallOffsetMs).toISOString();
  return {
    schema: 'goshawk.notification/1',
    event: 'ended',
    job: id,
    name: spec.name,
    user: spec.user ?? null,
    state,
    tasks: counts,
    submittedAt: at(acceptedAt),
    startedAt: at(firstStartAt),
    endedAt: at(endedAt),
  };
}
