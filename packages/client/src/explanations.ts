import { type CentralLine, type JobExplanation, UnreachableError, type WaitingGroup } from '@goshawk/core';
import type { CallOptions } from './options.js';
import { poll } from './poll.js';
import { type Session, someSchedulers } from './session.js';

/** What waits in the whole cluster, and what central has for it. */
export interface ClusterWaiting {
  /** By class and reason, the largest groups first. */
  readonly waiting: readonly WaitingGroup[];
  /** Undefined when central does not answer. */
  readonly central: CentralLine | undefined;
  /** Schedulers that did not answer, and whose tasks are missing. */
  readonly silent: readonly string[];
}

/** Asks all schedulers what waits there and why, and central who may be served. */
export async function clusterWaiting(session: Session, options: CallOptions): Promise<ClusterWaiting> {
  const schedulers = await someSchedulers(session, options);
  const asked = poll(
    session.requests,
    schedulers,
    {
      what: 'for what waits there',
      timeoutMs: session.timings.pollTimeoutMs,
      build: (request) => ({ type: 'explainWaiting', request }),
      read: ({ value }) => value,
    },
    options,
  );
  const [{ answered, silent }, central] = await Promise.all([asked, lineAt(session, undefined, options)]);
  return { waiting: together(answered.flat()), central, silent: [...silent, ...session.roster.missing] };
}

/** Where a job stands at central; undefined when that does not answer. */
export async function lineAt(
  session: Session,
  of: Pick<JobExplanation, 'owner' | 'number'> | undefined,
  options: CallOptions,
): Promise<CentralLine | undefined> {
  const { answered } = await poll(
    session.requests,
    [session.roster.central],
    {
      what: 'who waits for workers',
      timeoutMs: session.timings.pollTimeoutMs,
      build: (request) =>
        of === undefined
          ? { type: 'explainLine' as const, request }
          : { type: 'explainNeed' as const, request, owner: of.owner, job: of.number },
      read: ({ value }) => value,
    },
    options,
  ).catch((error: unknown) => {
    if (error instanceof UnreachableError) return { answered: [] };
    throw error;
  });
  return answered[0];
}

/** Groups of several schedulers; the example is the job that has waited longest of all. */
function together(groups: readonly WaitingGroup[]): WaitingGroup[] {
  const sums = new Map<string, WaitingGroup>();
  for (const group of groups) {
    const key = `${group.class} ${group.reason}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, group);
    else {
      const { example, exampleAgeMs } = sum.exampleAgeMs >= group.exampleAgeMs ? sum : group;
      sums.set(key, { ...sum, tasks: sum.tasks + group.tasks, example, exampleAgeMs });
    }
  }
  return [...sums.values()].sort((one, other) => other.tasks - one.tasks);
}
