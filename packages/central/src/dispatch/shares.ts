import {
  addVector,
  type ClusterShares,
  CPU,
  type JobShare,
  largestShare,
  type Resources,
  SHARES_MAX,
  SLOT,
  slotsIn,
  type Vector,
} from '@goshawk/core';
import { type CentralPolicy, type ClusterBooks, Fragments, isFragment } from '@goshawk/policies';

/** Returns what each job uses or makes unusable, and its fair share if the policy defines one. */
export function sharesOf(books: ClusterBooks, policy: CentralPolicy): ClusterShares {
  const shares = policy.shares?.(books);
  // If tasks share CPUs, CPUs limit them rather than slots.
  const hasSlots = (books.capacity[SLOT] ?? 0) <= slotsIn(books.capacity);
  const amountsOf = (vector: Vector): Resources => ({
    ...(hasSlots ? { slot: vector[SLOT] ?? 0 } : {}),
    ...books.names.resourcesOf(vector),
  });
  const capacity = amountsOf(books.capacity);
  const fragments = new Fragments();
  const jobs = [...books.jobs].map((job): JobShare => {
    const has: number[] = [];
    let waiting = 0;
    for (const { demand, running, waiting: more, overLimit } of job.stages) {
      for (let run = 0; run < running; run++) addVector(has, demand, 1);
      waiting += more + overLimit;
    }
    for (const run of job.runs) {
      addVector(has, run.lent, -1);
      if (run.isQueued || !isFragment(run.stage.demand)) continue;
      const cpu = (run.stage.demand[CPU] ?? 0) - (run.lent[CPU] ?? 0);
      has[CPU] = (has[CPU] ?? 0) + fragments.add(run, job.user, cpu);
    }
    const due = shares?.dueTo(job);
    return {
      id: job.name,
      user: job.user,
      weight: job.weight,
      running: job.running,
      waiting,
      has: amountsOf(has),
      ...(due === undefined ? {} : { due: amountsOf(Array.from(due)) }),
      userWeight: job.userWeight,
    };
  });
  const sizes = new Map(jobs.map((job) => [job, largestShare(job.has, capacity).share]));
  jobs.sort((one, other) => sizes.get(other)! - sizes.get(one)!);
  return {
    ...(shares === undefined ? {} : { by: shares.by }),
    capacity,
    jobs: jobs.slice(0, SHARES_MAX),
    total: jobs.length,
  };
}
