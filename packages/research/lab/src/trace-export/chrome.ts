import type { JobState, Millis, Outcome } from '@goshawk/core';
import type { JournalEntry } from '@goshawk/traces';

/**
 * An event of Chrome's trace format (Trace Event Format), which Perfetto reads: a complete event, the begin
 * or end of an asynchronous event, or metadata. Times are µs.
 */
interface ChromeEvent {
  readonly ph: 'X' | 'b' | 'e' | 'M';
  readonly name: string;
  readonly cat?: string;
  /** The id of an asynchronous event; without `local`, Perfetto shows them beside their process. */
  readonly id2?: { readonly local: string };
  readonly ts?: number;
  /** Duration of a complete event. */
  readonly dur?: number;
  readonly pid: number;
  readonly tid: number;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface ChromeTrace {
  readonly displayTimeUnit: 'ms';
  readonly traceEvents: readonly ChromeEvent[];
}

/** Process of the jobs; workers follow. */
const JOBS_PID = 1;

interface TracedJob {
  readonly id: string;
  readonly name: string;
  readonly user: string | undefined;
  readonly acceptedAt: Millis;
  endedAt?: Millis;
  state?: JobState;
  readonly runs: {
    readonly task: number;
    readonly attempt: number;
    readonly worker: string;
    readonly outcome: Outcome;
    readonly from: Millis;
    readonly to: Millis;
  }[];
}

/** Collects jobs and the runs of their tasks from journal records. */
export class ChromeTracing {
  readonly #jobs = new Map<string, TracedJob>();

  note(record: JournalEntry): void {
    const job = this.#jobs.get(record.id);
    switch (record.kind) {
      case 'accepted':
        this.#jobs.set(record.id, {
          id: record.id,
          name: record.spec.name,
          user: record.spec.user,
          acceptedAt: record.at,
          runs: [],
        });
        return;
      case 'attempt': {
        const { task, attempt, worker, outcome, at, runMs } = record;
        job?.runs.push({ task, attempt, worker, outcome, from: at - runMs, to: at });
        return;
      }
      case 'ended':
        if (job !== undefined) {
          job.endedAt = record.at;
          job.state = record.state;
        }
        return;
      default:
        return;
    }
  }

  /** Returns the jobs that have ended. */
  ended() {
    return [...this.#jobs.values()].flatMap(({ id, name, user, state, acceptedAt: submittedAt }) =>
      state === undefined ? [] : [{ id, name, user, state, submittedAt }],
    );
  }

  /**
   * Returns a track for the jobs, from acceptance to end, and one for each worker with a row per concurrent
   * task. Time begins with the first job; unfinished jobs are left out.
   *
   * @param which jobs to show
   * @returns undefined if there are none
   */
  trace(
    which: (job: { readonly id: string; readonly acceptedAt: Millis }) => boolean,
  ): ChromeTrace | undefined {
    const jobs = [...this.#jobs.values()].filter((job) => job.endedAt !== undefined && which(job));
    if (jobs.length === 0) return undefined;
    const begin = jobs.reduce(
      (least, { acceptedAt }) => Math.min(least, acceptedAt),
      Number.POSITIVE_INFINITY,
    );
    const micros = (at: Millis): number => Math.max(0, Math.round((at - begin) * 1_000));
    const events = named(JOBS_PID, 'jobs');
    for (const { id, name, acceptedAt, endedAt, state, runs } of jobs) {
      const of = { name: `${id} ${name}`, cat: 'job', id2: { local: id }, pid: JOBS_PID, tid: JOBS_PID };
      events.push({ ...of, ph: 'b', ts: micros(acceptedAt), args: { state, runs: runs.length } });
      events.push({ ...of, ph: 'e', ts: micros(endedAt!), args: {} });
    }
    const workers = [...new Set(jobs.flatMap(({ runs }) => runs.map(({ worker }) => worker)))].sort(byNumber);
    const pids = new Map(workers.map((worker, index) => [worker, JOBS_PID + 1 + index]));
    for (const [worker, pid] of pids) events.push(...named(pid, worker));
    // Row numbers follow process numbers: Perfetto merges row 0 and the row with the process's number.
    const firstRow = JOBS_PID + workers.length + 1;
    const rows = new Map<string, number[]>();
    const all = jobs.flatMap((job) => job.runs.map((run) => ({ ...run, job })));
    for (const { job, task, attempt, worker, outcome, from, to } of all.sort((a, b) => a.from - b.from)) {
      const [ts, end] = [micros(from), micros(to)];
      const ends = rows.get(worker) ?? [];
      rows.set(worker, ends);
      const pid = pids.get(worker)!;
      const free = ends.findIndex((at) => at <= ts);
      const row = free < 0 ? ends.length : free;
      const tid = firstRow + row;
      if (free < 0) events.push(meta('thread_name', pid, tid, { name: `row ${row + 1}` }));
      ends[row] = end;
      const error = outcome.errorMessage === '' ? {} : { error: outcome.errorMessage };
      events.push({
        ph: 'X',
        name: `${job.name} ${task}`,
        cat: outcome.kind,
        ts,
        dur: end - ts,
        pid,
        tid,
        args: { job: job.id, task, attempt, waitedMs: from - job.acceptedAt, ...error },
      });
    }
    return { displayTimeUnit: 'ms', traceEvents: events };
  }
}

/** Names a track; tracks are sorted by number. */
function named(pid: number, name: string): ChromeEvent[] {
  return [
    meta('process_name', pid, pid, { name }),
    meta('process_sort_index', pid, pid, { sort_index: pid }),
  ];
}

function meta(name: string, pid: number, tid: number, args: ChromeEvent['args']): ChromeEvent {
  return { ph: 'M', name, pid, tid, args };
}

/** Compares names so that `w2` is before `w10`. */
function byNumber(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
