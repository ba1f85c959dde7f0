import { type Millis, type Question, UnreachableError } from '@goshawk/core';
import { pause } from './abort.js';
import type { Alarms } from './alarms.js';
import type { Connection } from './connection.js';
import { jobsOwnerAway } from './errors.js';
import type { CallOptions, ClientTimings } from './options.js';
import type { Answer, Order, Requests } from './requests.js';
import type { KnownScheduler, Roster } from './roster.js';
import type { Watches } from './watches.js';

/** What a cluster and the handles of its jobs share. */
export interface Session {
  readonly connection: Connection;
  readonly alarms: Alarms;
  readonly requests: Requests;
  readonly watches: Watches;
  readonly roster: Roster;
  readonly timings: ClientTimings;
  /** Whose jobs these are, where a job does not say. */
  readonly user: string | undefined;
}

/** Asks the scheduler that owns a job, which is looked up again whenever it is silent. */
export async function askOwner<Q extends Question>(
  session: Session,
  id: string,
  order: Pick<Order<Q>, 'what' | 'build'>,
  { signal }: CallOptions,
): Promise<Answer<Q>> {
  const { roster, requests } = session;
  const found = await roster.findOwner(id, signal);
  const owner = (): KnownScheduler => roster.ownerOf(id) ?? found;
  try {
    return await requests.ask<Q>({ ...order, to: owner, onSilence: () => roster.refreshSoon(), signal });
  } catch (error) {
    const isSilent = error instanceof UnreachableError && error.code === 'unreachable';
    throw isSilent && roster.isAway(owner()) ? jobsOwnerAway(id, owner().title, error) : error;
  }
}

/**
 * The schedulers of the cluster: a cluster that is just starting may have none for a moment.
 *
 * @throws UnreachableError when there is none within the time for a request
 */
export async function someSchedulers(
  { roster, timings }: Session,
  { signal }: CallOptions,
): Promise<readonly KnownScheduler[]> {
  roster.keepFresh();
  const giveUpAt: Millis = performance.now() + timings.requestTimeoutMs;
  while (roster.schedulers.length === 0) {
    await roster.refresh(signal);
    if (roster.schedulers.length > 0) break;
    if (performance.now() >= giveUpAt) {
      throw new UnreachableError(
        'no-schedulers',
        'the cluster has no scheduler that takes jobs',
        'start one with `goshawk scheduler`',
      );
    }
    await pause(timings.retryMs, signal);
  }
  return roster.schedulers;
}
