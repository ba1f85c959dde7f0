import type { UserLoad } from '@goshawk/scheduler';
import { NO_USER, OTHER_USERS } from './catalogue.js';
import type { Readings, Sample } from './exposition.js';

type Sums = { -readonly [K in keyof Omit<UserLoad, 'user'>]: number };

/**
 * Metrics by user. The users with the most load have separate series; the others share one.
 *
 * @param loads of all schedulers of the process
 * @param max number of users with separate series; 0: no metrics by user
 */
export function userReadings(loads: Iterable<UserLoad>, max: number): Readings {
  if (max === 0) return {};
  const byUser = new Map<string, Sums>();
  for (const { user = NO_USER, ...load } of loads) add(byUser, user, load);
  const others = byUser.get(OTHER_USERS);
  byUser.delete(OTHER_USERS);
  const sorted = [...byUser].sort(([one, a], [other, b]) => loadOf(b) - loadOf(a) || (one < other ? -1 : 1));
  const shown = new Map(sorted.slice(0, max));
  if (others !== undefined) add(shown, OTHER_USERS, others);
  for (const [, load] of sorted.slice(max)) add(shown, OTHER_USERS, load);
  const of = (value: (load: Sums) => number): Sample[] =>
    Array.from(shown, ([user, load]) => ({ labels: { user }, value: value(load) }));
  return {
    goshawk_scheduler_user_jobs: of(({ jobs }) => jobs),
    goshawk_scheduler_user_running_tasks: of(({ running }) => running),
    goshawk_scheduler_user_running_cpus: of(({ cpus }) => cpus),
    goshawk_scheduler_user_waiting_tasks: of(({ waiting }) => waiting),
  };
}

function add(sums: Map<string, Sums>, user: string, { jobs, running, cpus, waiting }: Sums): void {
  const sum = sums.get(user) ?? { jobs: 0, running: 0, cpus: 0, waiting: 0 };
  sums.set(user, {
    jobs: sum.jobs + jobs,
    running: sum.running + running,
    cpus: sum.cpus + cpus,
    waiting: sum.waiting + waiting,
  });
}

/** Every running task counts, including those that request less than a CPU. */
function loadOf({ running, cpus, waiting }: Sums): number {
  return Math.max(running, cpus) + waiting;
}
