import {
  type CentralLine,
  type JobExplanation,
  mergedGroups,
  type WaitingGroup,
  withCentralLimits,
  withLimits,
} from '@goshawk/core';
import type { CallOptions } from './options.js';
import { type Ask, askCentralIfReachable, askSchedulers, type Session } from './session.js';

/** Waiting tasks of the whole cluster, and central's capacity. */
export interface ClusterWaiting {
  /** By class and reason, the largest groups first. */
  readonly waiting: readonly WaitingGroup[];
  /** Undefined when central does not answer. */
  readonly central: CentralLine | undefined;
  /** Schedulers that did not answer, and whose tasks are missing. */
  readonly silent: readonly string[];
}

/** Collects waiting tasks and their reasons from all schedulers, and central's capacity. */
export async function clusterWaiting(session: Session, options: CallOptions): Promise<ClusterWaiting> {
  const [{ answers, silent }, line] = await Promise.all([
    askSchedulers(
      session,
      { what: 'for its waiting tasks', build: (request) => ({ type: 'explainWaiting', request }) },
      options,
    ),
    askCentralIfReachable(
      session,
      { what: 'for waiting tasks', build: (request) => ({ type: 'explainLine', request }) },
      options,
    ),
  ]);
  const central = line?.value;
  return {
    waiting: withCentralLimits(mergedGroups(answers.flat()), central?.limited ?? []),
    central,
    silent,
  };
}

/** Returns the position of a job at central; undefined if that does not respond. */
export async function lineOf(
  session: Session,
  { owner, number: job }: Pick<JobExplanation, 'owner' | 'number'>,
  options: CallOptions,
): Promise<CentralLine | undefined> {
  const order: Ask<'explainNeed'> = {
    what: 'for the position of a job',
    build: (request) => ({ type: 'explainNeed', request, owner, job }),
  };
  return (await askCentralIfReachable(session, order, options))?.value;
}

/** The owner's explanation with the limits that only central knows. */
export function withCentral(
  explanation: JobExplanation,
  central: CentralLine | undefined,
): JobExplanation & { readonly central: CentralLine | undefined } {
  if (central === undefined) return { ...explanation, central };
  const waiting = withLimits(explanation.waiting, central.needs);
  const { task } = explanation;
  if (task?.reason !== 'matching') return { ...explanation, waiting, central };
  const wait = explanation.waiting.filter(
    ({ stage, reason }) => stage === task.stage && reason === 'matching',
  );
  const reason = withLimits(wait, central.needs)[0]?.reason ?? task.reason;
  return { ...explanation, waiting, task: { ...task, reason }, central };
}
