import type { ExplainedJob } from '@goshawk/client';
import {
  counted,
  formatCount,
  formatDuration,
  isFinal,
  type JobDetail,
  type JobSummary,
  type Millis,
  needOf,
  type TaskFailure,
} from '@goshawk/core';
import type { Attention } from './overview.js';
import { mainWait } from './why-sentence.js';

/** A task is slow if it runs this many times longer than other tasks of its stage, or than the estimate. */
const SLOW_FACTOR = 10;
/** Found by the next poll, so that a problem is named within a minute. */
const SLOW_MIN_MS = 45_000;
const JOBS_MAX = 200;
/** Age (ms) after which a sample of a job is stale, because the job may have progressed. */
const STALE_MS = 300_000;
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

interface Waiting {
  readonly at: Millis;
  readonly name: string;
  readonly waitedMs: Millis;
  readonly why: string;
  readonly isGang: boolean;
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

/** Finds problems that are visible only in the details of sampled jobs. */
export class Findings {
  readonly #slow = new Map<string, Slow>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #causes = new Map<string, { readonly endedMs: Millis | undefined; readonly cause: string }>();
  #flood: Attention | undefined;

  /** @param now wall clock */
  noteJob(job: JobDetail, now: Millis): void {
    this.#slow.delete(job.id);
    this.#noteCause(job);
    // Jobs without waiting tasks are not explained.
    if (isFinal(job.state) || job.tasks.waiting === 0) this.#waiting.delete(job.id);
    const running = isFinal(job.state) ? [] : job.running;
    const slow = running
      .map((run) => ({ ...run, typical: typicalOf(job, run.task) }))
      .filter(
        ({ elapsedMs, typical }) =>
          elapsedMs > Math.max(SLOW_MIN_MS, SLOW_FACTOR * (typical?.ms ?? Number.POSITIVE_INFINITY)),
      )
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

  /** @param now wall clock */
  noteWaiting({ job, waiting, central }: ExplainedJob, now: Millis): void {
    this.#waiting.delete(job.id);
    const most = mainWait(waiting);
    const need = most === undefined || central === undefined ? undefined : needOf(most, central.needs)?.why;
    const why = most?.missing ?? need;
    if (most !== undefined && why !== undefined && !isFinal(job.state)) {
      const { waitedMs } = most;
      const isGang = most.missing === undefined && most.reason !== 'user-limit' && GANG.test(why);
      this.#waiting.set(job.id, { at: now, name: job.name, waitedMs, why, isGang });
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

  /** @param active unfinished jobs; empty if the list is incomplete */
  noteUsers(active: readonly JobSummary[]): void {
    const waiting = new Map<string, number>();
    let total = 0;
    for (const { user = '', tasks } of active) {
      if (tasks.waiting === 0) continue;
      waiting.set(user, (waiting.get(user) ?? 0) + tasks.waiting);
      total += tasks.waiting;
    }
    const [user, tasks] = [...waiting].sort(([, one], [, other]) => other - one)[0] ?? ['', 0];
    this.#flood =
      user === '' || waiting.size < 2 || tasks < FLOOD_TASKS || tasks < FLOOD_SHARE * total
        ? undefined
        : {
            level: 'warning',
            what: `user ${user} has ${formatCount(tasks)} of ${counted(total, 'waiting task')}`,
            hint: '`goshawk shares` shows what each user gets; `--users FILE` can limit the waiting tasks of a user',
            link: `#/jobs?${new URLSearchParams({ q: `user:${user} state:active` })}`,
          };
  }

  #gangs(now: Millis): Attention[] {
    return [...this.#waiting]
      .filter(([, { at, isGang, waitedMs }]) => isGang && waitedMs >= GANG_WAITS_MS && now - at < STALE_MS)
      .sort(([, one], [, other]) => other.waitedMs - one.waitedMs)
      .slice(0, SHOWN)
      .map(([id, { name, waitedMs, why }]) => ({
        level: 'warning',
        what: `gang ${name} (${id}) has waited for ${formatDuration(waitedMs)}: ${why}`,
        hint: `\`goshawk why ${id}\` says what is ahead of it; more workers or CPUs, or \`goshawk update ${id} --priority high\`, start it sooner`,
        link: `#/jobs/${encodeURIComponent(id)}`,
      }));
  }

  /** @param now wall clock */
  list(now: Millis): Attention[] {
    const slow = [...this.#slow]
      .filter(([, { at }]) => now - at < STALE_MS)
      .sort(([, one], [, other]) => other.elapsedMs - one.elapsedMs);
    const more = slow.length - SHOWN;
    return [
      ...slow
        .slice(0, SHOWN)
        .map(([id, { name, task, worker, elapsedMs, typical, others }], index): Attention => {
          const also = others > 0 ? `, and ${counted(others, 'more task')} like it` : '';
          const rest =
            index === SHOWN - 1 && more > 0 ? `; ${counted(more, 'more job')} with slow tasks` : '';
          return {
            level: 'warning',
            what: `${name} (${id}): task ${task} has run for ${formatDuration(elapsedMs)} on ${worker}, where ${formatDuration(typical.ms)} is ${typical.how}${also}${rest}`,
            hint: `\`goshawk logs ${id}/${task}\` shows its output; \`goshawk cancel ${id}/${task}\` ends it`,
            link: `#/jobs/${encodeURIComponent(id)}`,
          };
        }),
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
 * Returns the average run time of completed tasks of the same stage, else the estimate of the stage;
 * undefined: unknown.
 */
function typicalOf({ stages }: JobDetail, task: number): Typical | undefined {
  let first = 0;
  for (const { tasks, meanRunMs, estimateMs } of stages) {
    first += tasks;
    if (task >= first) continue;
    if (meanRunMs !== undefined) return { ms: meanRunMs, how: 'usual' };
    return estimateMs === undefined ? undefined : { ms: estimateMs, how: 'estimated' };
  }
  return undefined;
}
