import type { ClusterView, JobView, PolicyShares } from '../contract.js';

/** Weighted fair shares of the users with work, divided among each user's jobs by weight. */
export function sharesByUser({ capacity, jobs }: ClusterView): PolicyShares {
  const users = new Map<string, { weight: number; jobsWeight: number }>();
  let weights = 0;
  for (const job of jobs) {
    if (!hasWork(job)) continue;
    const { user, userWeight, weight } = job;
    let known = users.get(user);
    if (known === undefined) {
      known = { weight: userWeight, jobsWeight: 0 };
      users.set(user, known);
      weights += userWeight;
    }
    known.jobsWeight += weight;
  }
  const dueTo = (job: JobView): readonly number[] => {
    const user = users.get(job.user);
    if (user === undefined || !hasWork(job)) return [];
    const part = ((user.weight / weights) * job.weight) / user.jobsWeight;
    return capacity.map((amount) => part * amount);
  };
  return { by: 'user', dueTo };
}

function hasWork({ running, stages }: JobView): boolean {
  return running > 0 || stages.some(({ waiting }) => waiting > 0);
}
