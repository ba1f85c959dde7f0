import { nearestRank } from '@goshawk/core';
import type { RecordedJob } from '@goshawk/traces';

/** How well jobs with deadlines and each user were served. */
export interface Served {
  /** Absent if no job has a deadline. */
  readonly deadlines?: { readonly jobs: number; readonly missed: number };
  /** Run times of the jobs of each user, most jobs first. Jobs without a user are omitted. */
  readonly users: readonly {
    readonly user: string;
    readonly jobs: number;
    readonly p50: number | null;
    readonly p90: number | null;
  }[];
}

/** @param runtimeSeconds of each recorded job, in order; NaN: did not complete */
export function servedOf(recorded: readonly RecordedJob[], runtimeSeconds: ArrayLike<number>): Served {
  const byUser = new Map<string, number[]>();
  let [jobs, missed] = [0, 0];
  for (const [index, { job }] of recorded.entries()) {
    const seconds = runtimeSeconds[index]!;
    if (job.deadlineSeconds !== undefined) {
      jobs++;
      if (!(seconds <= job.deadlineSeconds)) missed++;
    }
    if (job.user === undefined) continue;
    const own = byUser.get(job.user) ?? [];
    byUser.set(job.user, own);
    own.push(seconds);
  }
  const users = [...byUser].map(([user, each]) => {
    const completed = Float64Array.from(each.filter((seconds) => !Number.isNaN(seconds))).sort();
    const percentile = (percent: number) => (completed.length === 0 ? null : nearestRank(completed, percent));
    return { user, jobs: each.length, p50: percentile(50), p90: percentile(90) };
  });
  users.sort((one, other) => other.jobs - one.jobs || (one.user < other.user ? -1 : 1));
  return { ...(jobs === 0 ? {} : { deadlines: { jobs, missed } }), users };
}
