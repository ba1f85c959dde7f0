import { compareNames, HISTORY_KEPT_MS, HISTORY_STEP_MS, type Millis } from '@goshawk/core';
import { BAR_STATES, type Bar, BUCKET_MS, cpusOf, STREAM_MS } from './task-stream.js';
import type { ClusterWatch } from './watch.js';

interface Window {
  readonly seconds: number;
  readonly until?: Millis | undefined;
  readonly worker: string;
  readonly from: number;
  readonly limit: number;
}

/** Shorter windows up to the present are never shown at the resolution of central's record. ms */
const COARSE_MIN_MS = 600_000;

/** Returns the window of the task stream as JSON. */
export function streamJson(
  { stream, workers: table, day }: Pick<ClusterWatch, 'stream' | 'workers' | 'day'>,
  { seconds, until, worker, from: skip, limit }: Window,
  now: Millis,
) {
  const to = Math.max(now - HISTORY_KEPT_MS + 1_000 * seconds, Math.min(now, until ?? now));
  const from = to - 1_000 * seconds;
  // Central's record of the day is coarser, but older than this process.
  const observed = to - Math.max(from, stream.since, now - STREAM_MS);
  const isLive = now - to < COARSE_MIN_MS && seconds * 1_000 < COARSE_MIN_MS;
  const isCoarse = !isLive && observed < 500 * seconds;
  const bucketMs = isCoarse ? HISTORY_STEP_MS : BUCKET_MS;
  const bucketsFrom = Math.floor(from / bucketMs) * bucketMs;
  const buckets = Math.floor(to / bucketMs) - Math.floor(from / bucketMs) + 1;
  const rows = table.rows();
  const past = isCoarse ? day.workersIn(from, to) : new Map<string, number>();
  const all = isCoarse ? [...new Set([...table.names(), ...past.keys()])].sort(compareNames) : table.names();
  const matching = all.filter((name) => name.includes(worker));
  const names = matching.slice(skip, skip + limit);
  const indexOf = new Map(names.map((name, index) => [name, index]));
  const { bars, total } = stream.barsOf(new Set(names), from, to);
  const barsByWorker = new Map(names.map((name): [string, Bar[]] => [name, []]));
  for (const bar of bars) barsByWorker.get(bar.worker)!.push(bar);
  const partial = stream.partial(from, to);
  const jobs = new Map<string, number>();
  const named: { id: string; name: string; user: string | null }[] = [];
  const tuples = bars.map((bar): [number, number, number, number, number, number, number, number, number] => {
    let job = jobs.get(bar.job);
    if (job === undefined) {
      job = named.length;
      jobs.set(bar.job, job);
      named.push({ id: bar.job, name: bar.name, user: bar.user ?? null });
    }
    const state = BAR_STATES.indexOf(bar.state);
    const began = Math.round(bar.from - from);
    return [
      indexOf.get(bar.worker)!,
      job,
      bar.task,
      bar.attempt,
      state,
      began,
      Math.round(bar.to - bar.from),
      cpusOf(bar),
      Math.round(bar.pausedMs),
    ];
  });
  return {
    schema: 'goshawk.stream/1' as const,
    from: isoTime(from),
    to: isoTime(to),
    bucketSeconds: bucketMs / 1_000,
    bucketsFrom: isoTime(bucketsFrom),
    workers: names.map((name) => {
      const { view, state } = rows.get(name) ?? { view: undefined, state: 'lost' as const };
      const { slots = past.get(name) ?? 0, partition = 'general' as const } = view ?? {};
      if (isCoarse) {
        const loads = day.loadsOf(name, bucketsFrom, buckets);
        return { name, slots, partition, state, busy: loads, hidden: loads };
      }
      const running = stream.loadOf(name, from, to);
      const shown = mostShown(barsByWorker.get(name)!, from, running.length);
      /** Requested CPUs without `excluded` ones, in percent of the CPUs. null and −1 are unchanged. */
      const share = (cpus: number | null, excluded: number): number | null =>
        cpus === null || cpus < 0
          ? cpus
          : Math.round((100 * Math.max(0, cpus - excluded)) / Math.max(slots, cpus, 1));
      const busy = running.map((tasks) => share(tasks, 0));
      // In the gaps of a partial sample, a worker may have been as busy as in the rest of the bucket.
      const hidden = running.map((tasks, at) => share(tasks, partial[at] ? 0 : shown[at]!));
      return { name, slots, partition, state, busy, hidden };
    }),
    total: matching.length,
    jobs: named,
    states: BAR_STATES,
    bars: tuples,
    omitted: total - bars.length,
    reserved: isCoarse ? new Array<number | null>(buckets).fill(null) : stream.reserved(from, to),
  };
}

/** Maximum number of CPUs that concurrent attempts of a worker request in each bucket of the window. */
function mostShown(bars: readonly Bar[], from: Millis, buckets: number): number[] {
  const most = new Array<number>(buckets).fill(0);
  const first = Math.floor(from / BUCKET_MS);
  const changes = bars
    .flatMap((bar): [Millis, number][] => [
      [bar.from, cpusOf(bar)],
      [bar.to, -cpusOf(bar)],
    ])
    .sort(([one, up], [other, down]) => one - other || up - down);
  let running = 0;
  let reached = 0;
  for (const [at, change] of changes) {
    const bucket = Math.floor(at / BUCKET_MS) - first;
    for (; reached <= Math.min(bucket, buckets - 1); reached++)
      most[reached] = Math.max(most[reached]!, running);
    running += change;
    if (bucket >= 0 && bucket < buckets) most[bucket] = Math.max(most[bucket]!, running);
  }
  return most;
}

export function isoTime(at: Millis): string {
  return new Date(at).toISOString();
}
