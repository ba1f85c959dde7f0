import { type Millis, OutcomeUnknownError, type Question, UnreachableError } from '@goshawk/core';
import { pause } from './abort.js';
import type { Asking, Destination } from './attempts.js';
import { centralAway, jobsOwnerAway, mayHaveEffect, NOT_RUNNING_CODE, noSchedulers } from './errors.js';
import type { CallOptions } from './options.js';
import type { Answer, Order, Requests } from './requests.js';
import type { KnownScheduler, Roster } from './roster.js';

/** Shared by a cluster and its job handles. */
export interface Session extends Asking {
  readonly requests: Requests;
  readonly roster: Roster;
  /** Default owner of jobs. */
  readonly user: string | undefined;
}

/** A request, with its description. */
export type Ask<Q extends Question> = Pick<Order<Q>, 'what' | 'build'>;

/**
 * @param to the address of central, or, for changes, `presentCentral`: a restarted central must not perform an action that has
 *   failed for the caller
 * @throws UnreachableError if central does not answer, or its address is unknown
 */
export async function askCentral<Q extends Question>(
  { requests, roster, timings }: Session,
  order: Ask<Q> & Pick<Order<Q>, 'timeoutMs'>,
  { signal }: CallOptions,
  to: Order<Q>['to'] = () => roster.central,
): Promise<Answer<Q>> {
  const absent = roster.presentCentral === undefined ? { timeoutMs: timings.absentTimeoutMs } : {};
  try {
    return await requests.ask<Q>({ ...absent, ...order, to, signal });
  } catch (error) {
    const isAway = error instanceof UnreachableError && error.code === 'unreachable';
    throw isAway && roster.schedulers.length > 0 ? centralAway(error) : error;
  }
}

/** Changes something at central. @throws UnreachableError as `askCentral` */
export function changeCentral<Q extends Question>(
  session: Session,
  order: Ask<Q>,
  options: CallOptions,
): Promise<Answer<Q>> {
  const { roster } = session;
  return askCentral<Q>(session, { ...order, ...roster.upkeep }, options, () => roster.presentCentral);
}

/** Returns undefined if central does not answer soon. */
export async function askCentralIfReachable<Q extends Question>(
  session: Session,
  order: Ask<Q>,
  options: CallOptions,
): Promise<Answer<Q> | undefined> {
  try {
    return await askCentral<Q>(session, { ...order, timeoutMs: session.timings.pollTimeoutMs }, options);
  } catch (error) {
    if (error instanceof UnreachableError) return undefined;
    throw error;
  }
}

interface Polled<D, V> {
  readonly answered: readonly (readonly [of: D, value: V])[];
  /** Parties that did not respond in time, for display. */
  readonly silent: readonly string[];
}

/**
 * Sends the same request to many parties and skips those that do not answer: the lease of a dead scheduler or worker lasts some
 * seconds, and the other answers are useful meanwhile.
 *
 * @throws UnreachableError if no party answers
 */
export async function poll<Q extends Question, D extends Destination>(
  { requests, timings }: Session,
  everyone: readonly D[],
  order: Ask<Q> & Pick<Order<Q>, 'onSilence'>,
  { signal }: CallOptions,
): Promise<Polled<D, Answer<Q>['value']>> {
  const timeoutMs = timings.pollTimeoutMs;
  const asked = everyone.map((one) => requests.ask<Q>({ ...order, timeoutMs, signal, to: () => one }));
  const answered: [D, Answer<Q>['value']][] = [];
  const silent: string[] = [];
  const settled = await Promise.allSettled(asked);
  settled.forEach((outcome, index) => {
    if (outcome.status === 'fulfilled') answered.push([everyone[index]!, outcome.value.value]);
    else if (outcome.reason instanceof UnreachableError) silent.push(everyone[index]!.title);
    else throw outcome.reason;
  });
  const first = settled[0];
  if (answered.length === 0 && first?.status === 'rejected') throw first.reason;
  return { answered, silent };
}

/**
 * Sends the same request to all schedulers and skips those that do not answer.
 *
 * @returns the answers, and the display names of silent schedulers
 * @throws UnreachableError if no scheduler answers
 */
export async function askSchedulers<Q extends Question>(
  session: Session,
  order: Ask<Q>,
  options: CallOptions,
): Promise<{ readonly answers: readonly Answer<Q>['value'][]; readonly silent: readonly string[] }> {
  const { roster } = session;
  const asked = await someSchedulers(session, options);
  // Read before the answers arrive: a scheduler that the list gains meanwhile is not asked.
  const { missing } = roster;
  const { onSilence } = roster.upkeep;
  const { answered, silent } = await poll<Q, KnownScheduler>(
    session,
    asked,
    { ...order, onSilence },
    options,
  );
  return { answers: answered.map(([, value]) => value), silent: [...silent, ...missing] };
}

/** Sends a request to the scheduler that owns a job, which is looked up again when it does not answer. */
export async function askOwner<Q extends Question>(
  session: Session,
  id: string,
  order: Ask<Q>,
  { signal }: CallOptions,
): Promise<Answer<Q>> {
  const { roster, requests, timings } = session;
  const found = await roster.findOwner(id, signal);
  const owner = (): KnownScheduler => roster.ownerOf(id) ?? found;
  const isLost = roster.isLost(owner());
  try {
    return await requests.ask<Q>({
      ...order,
      to: owner,
      ...roster.upkeep,
      signal,
      ...(isLost && { timeoutMs: timings.absentTimeoutMs }),
    });
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    const isDown =
      error.code === NOT_RUNNING_CODE || (error.code === 'unreachable' && roster.isAway(owner()));
    if (!isDown) throw error;
    const away = jobsOwnerAway(id, owner().title, error);
    throw error instanceof OutcomeUnknownError ? mayHaveEffect(away) : away;
  }
}

/**
 * Returns the schedulers of the cluster, and waits for the first one if the cluster is just starting.
 *
 * @throws UnreachableError if there is none within the request timeout
 */
export async function someSchedulers(
  { roster, timings }: Session,
  { signal }: CallOptions,
): Promise<readonly KnownScheduler[]> {
  roster.keepFresh();
  const startedAt: Millis = performance.now();
  while (roster.schedulers.length === 0) {
    await roster.refresh(signal);
    if (roster.schedulers.length > 0) break;
    // Schedulers may still introduce themselves to a central that has just started.
    const patienceMs = roster.isComplete ? timings.absentTimeoutMs : timings.requestTimeoutMs;
    const leftMs = startedAt + patienceMs - performance.now();
    if (leftMs <= 0) throw noSchedulers(roster.missing);
    await pause(Math.min(timings.retryMs, leftMs), signal);
  }
  return roster.schedulers;
}
