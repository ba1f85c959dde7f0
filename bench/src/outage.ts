/**
 * What an outage of central costs in virtual time: every so many-th job of a workload on a share of its workers,
 * once with central all along, and once with central killed and another one started in its place after a while.
 *
 *     node bench/dist/outage.js [WORKLOAD] [--workers 1073] [--every 10] [--first 2] [--policy goshawk]
 *         [--cutoff 981] [--heartbeat 30] [--at 10000] [--away 0,600,3600] [--silent] [--json]
 *
 * Times are seconds of the workload. That central is gone is heard at once, by the connections that break; with
 * `--silent` its machine has lost power, and its silence is noticed after one and a half to two and a half heartbeats.
 */
import {
  type ClusterSettings,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Millis,
  type PolicyName,
} from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import type { Job } from '@goshawk/scheduler';
import { type CentralOutage, clusterWithOutage } from '@goshawk/simulator';
import { jobSpecOf, openWorkload, type TraceJob } from '@goshawk/traces';
import { printSpreads } from './bench-report.js';
import { readOptions } from './script.js';

const options = readOptions(
  {
    workers: 1_073,
    every: 10,
    first: 2,
    policy: 'goshawk',
    cutoff: 981,
    heartbeat: 30,
    at: 10_000,
    away: [0, 600, 3_600],
    silent: false,
  },
  true,
);

const SCHEDULERS = 10;
const CUTOFF_MS = options.cutoff * 1_000;
const HEARTBEAT_MS = options.heartbeat * 1_000;
const KILLED_AT_MS = options.at * 1_000;
/** Run this far at a time, so that the cluster, whose heartbeats never end, can be stopped when all jobs have ended. */
const SLICE_MS = 600_000;

/** @returns seconds that each job took, short ones and long ones */
function play(jobs: readonly TraceJob[], awayMs: Millis): Record<'short' | 'long', number[]> {
  const policy = options.policy as PolicyName;
  const settings: ClusterSettings = {
    policy: { ...DEFAULT_POLICY, policy, preset: presetNamed(policy), cutoffMs: CUTOFF_MS },
    timings: {
      ...LIVE_TIMINGS,
      heartbeatMs: HEARTBEAT_MS,
      leaseMs: 5 * HEARTBEAT_MS,
      retryMs: HEARTBEAT_MS,
    },
  };
  const seconds: Record<'short' | 'long', number[]> = { short: [], long: [] };
  const unended = new Map<Job, TraceJob>();
  const noticedBy: CentralOutage['noticedBy'] = options.silent ? 'silence' : 'connection';
  const outage: CentralOutage = { fromMs: KILLED_AT_MS, untilMs: KILLED_AT_MS + awayMs, noticedBy };
  const cluster = clusterWithOutage(
    {
      workers: options.workers,
      schedulers: SCHEDULERS,
      settings,
      seed: 1,
      onJobEnd: (job, now) => {
        const traced = unended.get(job);
        if (traced === undefined || job.state !== 'completed') throw new Error(`job ${job.id} ${job.state}`);
        unended.delete(job);
        const isLong = traced.meanSeconds * 1_000 >= CUTOFF_MS;
        seconds[isLong ? 'long' : 'short'].push((now - job.acceptedAt) / 1_000);
      },
    },
    awayMs > 0 ? outage : undefined,
  );
  let submitted = 0;
  const beginsMs = 2 * HEARTBEAT_MS;
  for (const [index, job] of jobs.entries()) {
    const spec = jobSpecOf(job, job.meanSeconds * 1_000);
    cluster.at(beginsMs + job.submitSeconds * 1_000, (now) => {
      unended.set(cluster.schedulers[index % SCHEDULERS]!.submit(spec, undefined, now), job);
      submitted++;
    });
  }
  for (let until = SLICE_MS; submitted < jobs.length || unended.size > 0; until += SLICE_MS)
    cluster.run(until);
  return seconds;
}

const workload = await openWorkload(options.positionals[0] ?? '../shared/traces/google-sub.tr');
const jobs: TraceJob[] = [];
let seen = 0;
for await (const job of workload.jobs()) if (seen++ % options.every === options.first) jobs.push(job);

const spreads = options.away.flatMap((away) => {
  const seconds = play(jobs, away * 1_000);
  return (['short', 'long'] as const).map((kind) => {
    return { name: `${kind}, central away for ${away} s`, unit: 's', values: seconds[kind] };
  });
});
printSpreads('outage', spreads, options.json);
