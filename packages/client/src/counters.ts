import { type Counters, sumCounters } from '@goshawk/core';
import type { Destination } from './attempts.js';
import { describeCluster } from './cluster-view.js';
import type { CallOptions } from './options.js';
import { poll, type Session } from './session.js';

export interface ClusterCounters {
  /** Undefined if it did not answer. */
  readonly central: Counters | undefined;
  /** Counters by name. */
  readonly schedulers: Readonly<Record<string, Counters>>;
  readonly workers: Readonly<Record<string, Counters>>;
  /** Sums of equally named counters, per kind and for the whole cluster. */
  readonly totals: { readonly schedulers: Counters; readonly workers: Counters; readonly all: Counters };
  /** Processes that did not respond and are missing above. */
  readonly silent: readonly string[];
}

type Kind = 'central' | 'scheduler' | 'worker';

export interface CountersOptions extends CallOptions {
  /** Selects processes. Default: all. */
  readonly of?: ((party: { readonly kind: Kind; readonly name: string }) => boolean) | undefined;
}

interface Party extends Destination {
  readonly kind: Kind;
  readonly name: string;
}

/** Reads the counters of all or selected processes of the cluster. */
export async function readClusterCounters(
  session: Session,
  options: CountersOptions,
): Promise<ClusterCounters> {
  const { of: isAsked = () => true } = options;
  const { roster } = session;
  const view = await describeCluster(session, options);
  const parties: Party[] = [
    { kind: 'central', name: view.name, ...roster.central },
    ...roster.schedulers.map((scheduler) => ({ kind: 'scheduler' as const, ...scheduler })),
    ...view.workers.map(({ name, address }) => ({
      kind: 'worker' as const,
      name,
      party: address,
      title: `worker ${name}`,
    })),
  ];
  const { answered, silent } = await poll(
    session,
    parties.filter(isAsked),
    { what: 'for its counters', build: (request) => ({ type: 'readCounters', request }) },
    options,
  );
  const of = (wanted: Kind) => answered.filter(([{ kind }]) => kind === wanted);
  // Has no prototype, because a worker's name may equal a member's.
  const byName = (wanted: Kind): Record<string, Counters> =>
    Object.assign(
      Object.create(null),
      Object.fromEntries(of(wanted).map(([{ name }, counters]) => [name, counters])),
    );
  const total = (wanted: Kind) => sumCounters(of(wanted).map(([, counters]) => counters));
  return {
    central: of('central')[0]?.[1],
    schedulers: byName('scheduler'),
    workers: byName('worker'),
    totals: {
      schedulers: total('scheduler'),
      workers: total('worker'),
      all: sumCounters(answered.map(([, counters]) => counters)),
    },
    silent,
  };
}
