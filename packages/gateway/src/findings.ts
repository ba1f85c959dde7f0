import type { Cluster, ExplainedJob } from '@goshawk/client';
import {
  type ClusterShares,
  counted,
  deadlineState,
  fairShareOf,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  GoshawkError,
  isFinal,
  type JobDetail,
  type JobSummary,
  largestShare,
  type Millis,
  mainWait,
  needOf,
  shareHolders,
  sharesByUser,
  sumOf,
  type TaskFailure,
} from '@goshawk/core';
import { actionOf, type Finding } from './attention.js';

/** A task is slow if it runs this many times longer than other tasks of its stage, or than the estimate. */
const SLOW_FACTOR = 10;
/** Number of completed tasks of a stage whose mean is the usual run time. */
const USUAL_RUNS = 3;
/** Found by the next poll, so that a problem is named within a minute. */
const SLOW_MIN_MS = 45_000;
const JOBS_MAX = 200;
/** Age (ms) after which a sample of a job is stale, because the job may have progressed. */
const STALE_MS = 300_000;
/** Age (ms) after which other tasks have probably taken or freed what a gang lacks. */
const LACK_STALE_MS = 30_000;
const SHOWN = 3;
/**
 * A user floods the cluster with at least this fraction of at least this many waiting tasks, while other
 * users wait.
 */
const FLOOD_SHARE = 0.8;
const FLOOD_TASKS = 100;

/** Waiting time (ms) after which a gang probably needs more room at once than ever becomes free. */
const GANG_WAITS_MS = 45_000;
/** Matches central's explanation of a waiting gang. */
const GANG = /\bgang\b/;

/** A user with most of the waiting tasks while other users wait. */
interface Suspect {
  readonly user: string;
  readonly tasks: number;
  readonly total: number;
  /** Number of users with active jobs. */
  readonly users: number;
}

/**
 * Returns the user who has most of the waiting tasks. Tasks on hold, or that begin later, do not count.
 *
 * @param active unfinished jobs; empty if the list is incomplete
 */
export function suspectOf(active: readonly JobSummary[]): Suspect | undefined {
  const waiting = new Map<string, number>();
  let total = 0;
  for (const { user = '', tasks, held = false, beginAt } of active) {
    if (tasks.waiting === 0 || held || beginAt !== undefined) continue;
    waiting.set(user, (waiting.get(user) ?? 0) + tasks.waiting);
    total += tasks.waiting;
  }
  const [user, tasks] = [...waiting].sort(([, one], [, other]) => other - one)[0] ?? ['', 0];
  if (user === '' || waiting.size < 2 || tasks < FLOOD_TASKS || tasks < FLOOD_SHARE * total) return undefined;
  return { user, tasks, total, users: new Set(active.map((job) => job.user ?? '')).size };
}

/** Whether most of the job waits because its tasks start together. */
export function waitsAsGang({ waiting, central }: ExplainedJob): boolean {
  const most = mainWait(waiting);
  if (most === undefined || central === undefined || most.missing !== undefined) return false;
  return most.reason !== 'user-limit' && GANG.test(needOf(most, central.needs)?.why ?? '');
}

/**
 * Says which resource a gang lacks, and who has it: `it needs 8 gpu, 5 of 8 are free; eve has 3`.
 *
 * @returns undefined if the resources suffice in total, but not on the workers
 */
export function lackOf(
  stages: JobDetail['stages'],
  { waiting }: Pick<ExplainedJob, 'waiting'>,
  { capacity, jobs }: ClusterShares,
): string | undefined {
  const stage = stages.find(({ name }) => name === mainWait(waiting)?.stage) ?? stages[0];
  if (stage === undefined) return undefined;
  const lacks = Object.entries({ cpu: 1, ...stage.demand }).flatMap(([name, each]) => {
    const total = capacity[name] ?? (name === 'cpu' ? capacity.slots : undefined);
    if (total === undefined) return [];
    const used = (has: Readonly<Record<string, number>>) =>
      has[name] ?? (name === 'cpu' ? (has.slots ?? 0) : 0);
    const free = Math.max(0, total - sumOf(jobs, ({ has }) => used(has)));
    const needed = each * stage.tasks;
    if (free >= needed) return [];
    const holders = new Map<string, number>();
    for (const { user, id, has } of jobs)
      if (used(has) > 0) {
        const holder = user === '' ? id : user;
        holders.set(holder, (holders.get(holder) ?? 0) + used(has));
      }
    const most = [...holders].sort(([, one], [, other]) => other - one).slice(0, HOLDERS);
    const words = (value: number) => (name === 'memory' ? formatBytes(value) : formatCount(value));
    const who = most.map(([holder, amount]) => `${holder} has ${words(amount)}`).join(', ');
    // GPUs and the like are scarcer than CPUs.
    const rank = name === 'cpu' ? 1 : 0;
    const what = `it needs ${words(needed)} ${name}, and ${words(free)} of ${words(total)} are free`;
    return [{ rank, what: who === '' ? what : `${what}; ${who}` }];
  });
  return lacks.sort((one, other) => one.rank - other.rank)[0]?.what;
}

/** Requests what a waiting gang lacks, and who has it; undefined: nothing, or central does not answer. */
export async function gangLack(
  cluster: Cluster,
  explained: ExplainedJob,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const [{ stages }, shares] = await Promise.all([
      cluster.job(explained.job.id).describe({ signal }),
      cluster.shares({ signal }),
    ]);
    return lackOf(stages, explained, shares);
  } catch (error) {
    if (error instanceof GoshawkError) return undefined;
    throw error;
  }
}

/** Maximum number of users named as holders of a resource. */
const HOLDERS = 3;

interface Waiting {
  readonly at: Millis;
  readonly name: string;
  readonly waitedMs: Millis;
  readonly why: string;
  readonly isGang: boolean;
  /** What a gang lacks. */
  readonly lack: string | undefined;
}

/** Run time to expect of a task. */
interface Typical {
  readonly ms: Millis;
  /** `usual`: the mean of its stage. */
  readonly how: 'usual' | 'estimated';
}

interface Slow {
  readonly at: Millis;
  readonly name: string;
  readonly task: number;
  readonly worker: string;
  readonly elapsedMs: Millis;
  readonly typical: Typical;
  readonly others: number;
}

/** Time (ms) for which a missed deadline is listed. */
const DEADLINE_SHOWN_MS = 3_600_000;
const DEADLINES_SHOWN = 5;
const UNSEEN_MS = 60_000;

/** A job that has missed its deadline, or will probably miss it. Times are wall clock. */
interface Late {
  readonly at: Millis;
  readonly job: JobSummary;
  readonly deadline: Millis;
}

/** Whether the job was active at its deadline. */
function missedAfter({ state, submittedAt, endedMs = 0 }: JobSummary, deadline: Millis): boolean {
  return !isFinal(state) || submittedAt + endedMs > deadline;
}

/** Says what may help a job that is late. */
function deadlineHelp({ id, tasks }: JobSummary): string {
  if (tasks.waiting === 0)
    return 'all of its tasks run already, so more workers or another priority do not help';
  return `\`goshawk update ${id} --priority high\` or more workers may help; \`goshawk why ${id} --what-if priority=high --what-if workers=+10\` predicts by how much`;
}

function isSlow(elapsedMs: Millis, typicalMs: Millis = Number.POSITIVE_INFINITY): boolean {
  return elapsedMs > Math.max(SLOW_MIN_MS, SLOW_FACTOR * typicalMs);
}

/**
 * Whether a task would count as slow by the estimate of its stage. Only the job's spec says whether a user gave that estimate.
 */
export function mayBeSlow({ state, running, stages, classifiedBy }: JobDetail): boolean {
  if (isFinal(state) || classifiedBy === 'given') return false;
  const least = Math.min(...stages.map(({ estimateMs = Number.POSITIVE_INFINITY }) => estimateMs));
  return running.some(({ elapsedMs }) => isSlow(elapsedMs, least));
}

/** Finds problems that are visible only in the details of sampled jobs. */
export class Findings {
  readonly #slow = new Map<string, Slow>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #causes = new Map<string, { readonly endedMs: Millis | undefined; readonly cause: string }>();
  readonly #late = new Map<string, Late>();
  #flood: Finding | undefined;

  /**
   * @param now wall clock
   * @param stated estimates that the user has stated, by stage; only of a job for which `mayBeSlow` asks for them
   */
  noteJob(job: JobDetail, now: Millis, stated: readonly (Millis | undefined)[] = []): void {
    this.#slow.delete(job.id);
    this.#noteCause(job);
    // Jobs without waiting tasks are not explained.
    if (isFinal(job.state) || job.tasks.waiting === 0) this.#waiting.delete(job.id);
    const running = isFinal(job.state) ? [] : job.running;
    const slow = running
      .map((run) => ({ ...run, typical: typicalOf(job, run.task, stated) }))
      .filter(({ elapsedMs, typical }) => isSlow(elapsedMs, typical?.ms))
      .sort((one, other) => other.elapsedMs - one.elapsedMs);
    const worst = slow[0];
    if (worst !== undefined) {
      const { task, worker, elapsedMs, typical } = worst;
      this.#slow.set(job.id, {
        ...{ at: now, name: job.name, task, worker, elapsedMs },
        ...{ typical: typical!, others: slow.length - 1 },
      });
    }
    dropOld(this.#slow, now);
  }

  /**
   * @param now wall clock
   * @param lack what a gang lacks, from `lackOf`
   */
  noteWaiting(explained: ExplainedJob, now: Millis, lack?: string): void {
    const { job, waiting, central } = explained;
    this.#waiting.delete(job.id);
    const most = mainWait(waiting);
    const need = most === undefined || central === undefined ? undefined : needOf(most, central.needs)?.why;
    const why = most?.missing ?? need;
    if (most !== undefined && why !== undefined && !isFinal(job.state)) {
      const { waitedMs } = most;
      const isGang = waitsAsGang(explained);
      const words = lack === undefined ? why : `${why}; ${lack}`;
      this.#waiting.set(job.id, { at: now, name: job.name, waitedMs, why: words, isGang, lack });
    }
    dropOld(this.#waiting, now);
  }

  #noteCause({ id, state, endedMs, failures }: JobDetail): void {
    this.#causes.delete(id);
    const cause = state === 'failed' ? mostFrequent(failures.map(causeWords)) : undefined;
    if (cause === undefined) return;
    this.#causes.set(id, { endedMs, cause });
    for (const old of this.#causes.keys()) {
      if (this.#causes.size <= JOBS_MAX) return;
      this.#causes.delete(old);
    }
  }

  /** Returns why most tasks of a failed job failed; undefined: unknown. */
  causeOf({ id, endedMs }: Pick<JobSummary, 'id' | 'endedMs'>): string | undefined {
    const known = this.#causes.get(id);
    // A retried job ends again, perhaps for another reason.
    return known?.endedMs === endedMs ? known?.cause : undefined;
  }

  /** Returns what a waiting job lacks; undefined: unknown. @param now wall clock */
  missingOf(job: string, now: Millis): string | undefined {
    const waiting = this.#waiting.get(job);
    return waiting === undefined || now - waiting.at >= STALE_MS ? undefined : waiting.why;
  }

  /** Returns which resource a waiting gang lacks, and who has it; undefined: nothing, or unknown. @param now wall clock */
  lackOf(job: string, now: Millis): string | undefined {
    const waiting = this.#waiting.get(job);
    return waiting === undefined || now - waiting.at >= LACK_STALE_MS ? undefined : waiting.lack;
  }

  /**
   * Notes that a user floods the cluster, if the user has more than the fair share of it.
   *
   * @param suspect the user with most of the waiting tasks
   * @param shares undefined: unknown
   */
  noteFlood(suspect: Suspect | undefined, shares: ClusterShares | undefined): void {
    this.#flood = undefined;
    if (suspect === undefined || shares === undefined) return;
    const { user, tasks, total, users } = suspect;
    const holder = sharesByUser(shareHolders(shares, [])).find((one) => one.user === user);
    if (holder === undefined) return;
    const { share, of } = largestShare(holder.has, shares.capacity);
    // Without enforced shares, each user with active jobs has the same share.
    const fair = holder.due === undefined ? 1 / users : fairShareOf(holder, shares.capacity);
    if (share <= fair) return;
    this.#flood = {
      key: `flood ${user}`,
      level: 'warning',
      what: `user ${user} has ${formatCount(tasks)} of ${counted(total, 'waiting task')}, and uses ${formatShare(share)} of the ${of} where ${formatShare(fair)} is the fair share`,
      hint: '`goshawk shares` shows what each user gets; `--users FILE` can limit the waiting tasks of a user',
      link: `#/jobs?${new URLSearchParams({ q: `user:${user} state:active` })}`,
      isLasting: true,
    };
  }

  /**
   * Notes jobs that are expected to miss their deadline, and those that have missed it within the last hour.
   *
   * @param jobs active jobs, and recently ended ones
   * @param now wall clock
   */
  noteDeadlines(jobs: readonly JobSummary[], now: Millis): void {
    for (const job of jobs) {
      const deadlineIs = deadlineState(job, now);
      const deadline = job.submittedAt + (job.deadlineMs ?? 0);
      // A job that failed earlier is listed as failed.
      const isPast =
        deadlineIs === 'missed' && now - deadline < DEADLINE_SHOWN_MS && missedAfter(job, deadline);
      if (isPast || deadlineIs === 'late') this.#late.set(job.id, { at: now, job, deadline });
      else this.#late.delete(job.id);
    }
    for (const [id, { at, job, deadline }] of this.#late) {
      // An active job is seen with each poll, unless there are too many.
      const isUnseen = !isFinal(job.state) && now - at > UNSEEN_MS;
      if (isUnseen || now - deadline > DEADLINE_SHOWN_MS || this.#late.size > JOBS_MAX) this.#late.delete(id);
    }
  }

  #deadlines(now: Millis): Finding[] {
    const late = [...this.#late.values()].sort((one, other) => one.deadline - other.deadline);
    const more = late.length - DEADLINES_SHOWN;
    const findings = late.slice(0, DEADLINES_SHOWN).map(({ job, deadline }): Finding => {
      const { id, name } = job;
      const isMissed = now > deadline;
      const words = isMissed
        ? `missed its deadline ${formatDuration(now - deadline)} ago${isFinal(job.state) ? '' : ' and still runs'}`
        : `will probably miss its deadline in ${formatDuration(deadline - now)}: it is expected to end ${formatDuration(job.expectedEnd!.at - deadline)} after it`;
      return {
        key: `deadline ${id}`,
        level: isMissed ? 'error' : 'warning',
        what: `${name} (${id}) ${words}`,
        hint: isFinal(job.state) ? `\`goshawk why ${id}\` shows where its time went` : deadlineHelp(job),
        link: `#/jobs/${encodeURIComponent(id)}`,
        actions: isFinal(job.state) || job.tasks.waiting === 0 ? [] : [actionOf('prioritize', { job: id })],
      };
    });
    if (more > 0)
      findings.push({
        key: 'deadlines',
        level: 'warning',
        what: `${counted(more, 'more job')} missed the deadline, or will probably miss it`,
        hint: '`goshawk jobs deadline:risk` and `deadline:missed` list them',
        link: `#/jobs?${new URLSearchParams({ q: 'deadline:risk' })}`,
      });
    return findings;
  }

  #gangs(now: Millis): Finding[] {
    return [...this.#waiting]
      .filter(([, { at, isGang, waitedMs }]) => isGang && waitedMs >= GANG_WAITS_MS && now - at < STALE_MS)
      .sort(([, one], [, other]) => other.waitedMs - one.waitedMs)
      .slice(0, SHOWN)
      .map(([id, { name, waitedMs, why }]) => ({
        key: `gang ${id}`,
        since: now - waitedMs,
        level: 'warning',
        what: `gang ${name} (${id}) has waited for ${formatDuration(waitedMs)}: ${why}`,
        hint: `\`goshawk why ${id}\` says what is ahead of it; more workers or CPUs, or \`goshawk update ${id} --priority high\`, start it sooner`,
        link: `#/jobs/${encodeURIComponent(id)}`,
        actions: [actionOf('prioritize', { job: id })],
      }));
  }

  /** @param now wall clock */
  list(now: Millis): Finding[] {
    const slow = [...this.#slow]
      .filter(([, { at }]) => now - at < STALE_MS)
      .sort(([, one], [, other]) => other.elapsedMs - one.elapsedMs);
    const more = slow.length - SHOWN;
    return [
      ...slow
        .slice(0, SHOWN)
        .map(([id, { name, task, worker, elapsedMs, typical, others }], index): Finding => {
          const also = others > 0 ? `, and ${counted(others, 'more task')} like it` : '';
          const rest =
            index === SHOWN - 1 && more > 0 ? `; ${counted(more, 'more job')} with slow tasks` : '';
          return {
            key: `slow ${id}`,
            since: now - elapsedMs,
            actions: [actionOf('log', { job: id, task })],
            level: 'warning',
            what: `${name} (${id}): task ${task} has run for ${formatDuration(elapsedMs)} on ${worker}, where ${formatDuration(typical.ms)} is ${typical.how}${also}${rest}`,
            hint: `\`goshawk logs ${id}/${task}\` shows its output`,
            link: `#/jobs/${encodeURIComponent(id)}`,
          };
        }),
      ...this.#deadlines(now),
      ...this.#gangs(now),
      ...(this.#flood === undefined ? [] : [this.#flood]),
    ];
  }
}

function causeWords({ exitCode, signal, message, kind }: TaskFailure): string {
  if (exitCode !== undefined) return `exit code ${exitCode}`;
  return signal === undefined ? message || kind : `signal ${signal}`;
}

/** Returns the value that occurs most often; the first one of several. */
function mostFrequent(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
}

/** Removes stale entries and the oldest of too many. Entries are in order of time. */
function dropOld(entries: Map<string, { readonly at: Millis }>, now: Millis): void {
  for (const [id, { at }] of entries) {
    if (entries.size <= JOBS_MAX && now - at < STALE_MS) return;
    entries.delete(id);
  }
}

/**
 * Returns the average run time of completed tasks of the same stage, else the estimate that the user has stated;
 * undefined: unknown. A prediction from other jobs of the user says nothing about a new job.
 */
function typicalOf(
  { stages, classifiedBy }: JobDetail,
  task: number,
  stated: readonly (Millis | undefined)[],
): Typical | undefined {
  let first = 0;
  for (const [index, { tasks, meanRunMs, estimateMs, counts }] of stages.entries()) {
    first += tasks;
    if (task >= first) continue;
    if (meanRunMs !== undefined && counts.completed >= USUAL_RUNS) return { ms: meanRunMs, how: 'usual' };
    const given = classifiedBy === 'given' ? estimateMs : stated[index];
    return given === undefined ? undefined : { ms: given, how: 'estimated' };
  }
  return undefined;
}
