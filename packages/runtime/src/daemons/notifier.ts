import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  formatDuration,
  isNotifyAllowed,
  type Millis,
  type NotifyTarget,
  notifyTargetName,
  notifyTargetOf,
} from '@goshawk/core';
import type { Job } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';

export interface NotifyOptions {
  /** Globs of hosts, `mail:` addresses and `command:` commands that jobs may name. */
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
/** See `Lanes`: at most 5,000 for a host if only one user has any, and 1,000 commands of the operator. */
const PENDING_MAX = 20_000;
const COMMANDS_PENDING_MAX = 4_000;
/** Maximum number of concurrent requests of a user to a host, and of a user in total: each is a connection. */
const REQUESTS_MAX = 16;
const CALLS_PER_USER_MAX = 64;
/** Maximum number of concurrent commands and mails of a user, and of commands of the operator for jobs of a user. */
const COMMANDS_MAX = 4;

/** Runs at most so many calls at once; the others wait in order. */
class Queue {
  readonly #callsMax: number;
  #calls = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(callsMax: number) {
    this.#callsMax = callsMax;
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#calls < this.#callsMax) this.#calls++;
    else await new Promise<void>((go) => this.#waiting.push(go));
    try {
      return await call();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#calls--;
      else next();
    }
  }
}

/** Notifications of one user to one host, or by programs. */
interface Lane {
  readonly queue: Queue;
  pending: number;
}

/** The right to wait in a queue. */
interface Pass {
  readonly run: Queue['run'];
  readonly leave: () => void;
}

/**
 * Queues of users that do not hold up each other: neither those of different users nor those of one user to different hosts. What
 * is pending is limited in total, and shared by the users and their queues as if there was one more of each.
 */
class Lanes {
  readonly #pendingMax: number;
  readonly #users = new Map<string, Lane & { readonly lanes: Map<string, Lane> }>();

  constructor(pendingMax: number) {
    this.#pendingMax = pendingMax;
  }

  /** @returns undefined if too many of the user are pending already; `leave` must be called in the end */
  enter(user: string, name: string, callsMax: number): Pass | undefined {
    const known = this.#users.get(user);
    const own = known ?? { queue: new Queue(CALLS_PER_USER_MAX), pending: 0, lanes: new Map<string, Lane>() };
    const lane = own.lanes.get(name) ?? { queue: new Queue(callsMax), pending: 0 };
    const share = this.#pendingMax / (this.#users.size + (known === undefined ? 2 : 1));
    const laneShare = share / (own.lanes.size + (lane.pending === 0 ? 2 : 1));
    if (own.pending >= share || lane.pending >= laneShare) return undefined;
    this.#users.set(user, own);
    own.lanes.set(name, lane);
    own.pending++;
    lane.pending++;
    const leave = (): void => {
      if (--lane.pending === 0) own.lanes.delete(name);
      if (--own.pending === 0) this.#users.delete(user);
    };
    return { run: (call) => lane.queue.run(() => own.queue.run(call)), leave };
  }
}

/**
 * Notifies others of ended jobs: the URL, mail address or command that the job names, and the operator's command. Failed
 * notifications of a job's own are retried for several minutes; a job that ends again meanwhile is reported after that.
 * The scheduler reports jobs again after its restart unless their notifications were settled. The operator's command
 * runs at most once.
 */
export class Notifier {
  readonly #options: NotifyOptions;
  readonly #logger: Logger;
  readonly #wallNow: () => Millis;
  readonly #ending = new AbortController();
  readonly #lanes = new Lanes(PENDING_MAX);
  readonly #commandLanes = new Lanes(COMMANDS_PENDING_MAX);
  /** The last pending notification of each job. */
  readonly #lastOf = new Map<string, Promise<void>>();

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

  /** Runs the operator's command. @param wallOffsetMs wall clock minus the clock of the job's times */
  jobEnded(job: Job, wallOffsetMs: Millis): void {
    const { command } = this.#options;
    if (command !== undefined) this.#queue(job, command, JSON.stringify(notificationOf(job, wallOffsetMs)));
  }

  /**
   * Tells the target that the job names.
   *
   * @param wallOffsetMs wall clock minus the clock of the job's times
   * @param settled called later, once that has happened or is given up; not if this process ends first, or has too many others to deliver
   */
  notify(job: Job, wallOffsetMs: Millis, settled: () => void): void {
    const to = job.spec.notify!;
    if (this.#isAllowed(job.id, to))
      this.#send(job, to, JSON.stringify(notificationOf(job, wallOffsetMs)), settled);
    else queueMicrotask(settled);
  }

  /** Returns whether the target is allowed now: the list may have changed since submission. */
  #isAllowed(job: string, text: string): boolean {
    if (isNotifyAllowed(text, this.#options.hosts)) return true;
    this.#logger.warn(
      { job, to: notifyTargetName(text) },
      'no notification is sent: --notify-hosts does not allow it',
    );
    return false;
  }

  close(): void {
    this.#ending.abort();
  }

  #send(job: Job, to: string, body: string, settled: () => void): void {
    const { id, spec } = job;
    const target = notifyTargetOf(to)!;
    const isWeb = target.kind === 'web';
    const name = notifyTargetName(to);
    const user = spec.user ?? '';
    const lane = this.#lanes.enter(user, isWeb ? name : '', isWeb ? REQUESTS_MAX : COMMANDS_MAX);
    if (lane === undefined) {
      this.#logger.warn(
        { job: id, to: name, user },
        'the notification waits for a restart of the scheduler: too many others of its user are not delivered yet',
      );
      return;
    }
    const before = this.#lastOf.get(id);
    const attempt = isWeb ? () => this.#post(to, body) : () => this.#runFor(target, body, variablesOf(job));
    const delivered = (before ?? Promise.resolve())
      .then(() => this.#deliver(id, name, attempt, lane.run))
      .then((isSettled) => {
        if (isSettled) settled();
      })
      .finally(() => {
        lane.leave();
        if (this.#lastOf.get(id) === delivered) this.#lastOf.delete(id);
      });
    this.#lastOf.set(id, delivered);
  }

  /** @returns false: this process ends first */
  async #deliver(
    job: string,
    to: string,
    attempt: () => Promise<Problem | undefined>,
    run: Pass['run'],
  ): Promise<boolean> {
    const { signal } = this.#ending;
    for (let attempts = 0; ; attempts++) {
      const problem = await run(async () => (signal.aborted ? undefined : attempt()));
      if (signal.aborted) return false;
      if (problem === undefined) return true;
      const waitMs = problem.isFinal ? undefined : this.#pausesMs[attempts];
      if (waitMs === undefined) {
        this.#logger.warn({ job, to }, `the notification was not delivered: ${problem.message}`);
        return true;
      }
      await pause(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return false;
    }
  }

  /** Runs the job's command, or the local mail program. */
  async #runFor(
    target: Exclude<NotifyTarget, { kind: 'web' }>,
    body: string,
    variables: Record<string, string>,
  ): Promise<Problem | undefined> {
    const env = { ...process.env, ...variables };
    const message =
      target.kind === 'command'
        ? await this.#run(['/bin/sh', '-c', target.command], `${body}\n`, env)
        : await this.#run(['sendmail', '-i', '-t'], mailOf(target.address, body, variables), {
            ...env,
            // `sendmail` is often not in a daemon's PATH.
            PATH: `${env.PATH ?? '/usr/bin:/bin'}:/usr/sbin:/usr/lib`,
          });
    return message === undefined ? undefined : { message, isFinal: false };
  }

  async #post(url: string, body: string): Promise<Problem | undefined> {
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

  #queue({ id, spec: { user = '' } }: Job, command: string, body: string): void {
    const lane = this.#commandLanes.enter(user, '', COMMANDS_MAX);
    if (lane === undefined) {
      this.#logger.warn(
        { job: id, user },
        '--notify-command is skipped: too many others of the user wait for it',
      );
      return;
    }
    void lane
      .run(async () => {
        if (this.#ending.signal.aborted) return;
        const problem = await this.#run(['/bin/sh', '-c', command], `${body}\n`, process.env);
        if (problem !== undefined) this.#logger.warn({ job: id }, `--notify-command failed: ${problem}`);
      })
      .finally(lane.leave);
  }

  /** @returns what went wrong; undefined: nothing */
  #run([program, ...args]: readonly [string, ...string[]], input: string, env: NodeJS.ProcessEnv) {
    return new Promise<string | undefined>((resolve) => {
      try {
        // A separate group, so that programs that the shell has started can be killed with it.
        const child = spawn(program, args, {
          stdio: ['pipe', 'ignore', 'ignore'],
          detached: true,
          cwd: '/',
          env,
        });
        let isLate = false;
        const timer = setTimeout(() => {
          isLate = true;
          killGroup(child.pid);
        }, this.#commandMs).unref();
        const ended = (problem: string | undefined): void => {
          clearTimeout(timer);
          resolve(problem);
        };
        child.once('error', ({ message, code }: NodeJS.ErrnoException) =>
          ended(code === 'ENOENT' ? `${program} is not installed on the scheduler's machine` : message),
        );
        child.once('exit', (code, signal) => {
          const how = isLate
            ? `it took longer than ${formatDuration(this.#commandMs)}`
            : `it ended with ${signal ?? code}`;
          ended(code === 0 ? undefined : how);
        });
        // A command that does not read stdin closes the pipe.
        child.stdin.on('error', () => {});
        child.stdin.end(input);
      } catch (error) {
        // If no file descriptors are free, the child has no stdin, and using it throws.
        resolve((error as Error).message);
      }
    });
  }
}

interface Problem {
  readonly message: string;
  /** Whether another attempt is pointless. */
  readonly isFinal: boolean;
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

/** Variables for a job's own command. */
function variablesOf({ id, spec, state, counts }: Job): Record<string, string> {
  return {
    GOSHAWK_JOB: id,
    GOSHAWK_JOB_NAME: spec.name,
    GOSHAWK_JOB_STATE: state,
    GOSHAWK_JOB_TASKS: `${counts.total}`,
    GOSHAWK_JOB_FAILED: `${counts.failed}`,
  };
}

/** Returns a mail. Headers are ASCII; the body has the full name. */
function mailOf(address: string, body: string, variables: Record<string, string>): string {
  const { GOSHAWK_JOB: id, GOSHAWK_JOB_NAME: name, GOSHAWK_JOB_STATE: state } = variables;
  const subject = `Goshawk: ${name} (${id}) ${state}`.replaceAll(/[^ -~]/gu, '?');
  const headers = [
    `To: ${address}`,
    `Subject: ${subject}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    'Auto-Submitted: auto-generated',
  ];
  return `${headers.join('\n')}\n\n${JSON.stringify(JSON.parse(body), null, 2)}\n`;
}

function notificationOf(job: Job, wallOffsetMs: Millis): object {
  const { id, spec, state, counts, acceptedAt, times, doneAt } = job;
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
    startedAt: at(times.firstStartAt),
    endedAt: at(doneAt),
  };
}
