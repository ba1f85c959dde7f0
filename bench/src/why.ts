/**
 * Measures how often the intervals that `why` predicts for the next start of a waiting job are right. A workload runs
 * in virtual time at a given load, and at random times central is asked about a random waiting job.
 *
 *     node bench/dist/why.js [WORKLOAD] [--workers 1000] [--load 0.9] [--questions 4000] [--policy goshawk]
 *         [--estimator pilot|given] [--seed 1] [--json]
 *
 * Pinball loss at q is mean(max(q·(y − ŷ), (q − 1)·(y − ŷ))); its ratio is to the better of two simpler estimates: work
 * ahead ÷ slots, and the median of earlier waits of the class.
 */
import {
  type ClusterSettings,
  DEFAULT_POLICY,
  expectedWaitMs,
  type Message,
  type MessageOf,
  type Millis,
  type PolicyName,
  Random,
  RELIABLE_TIMINGS,
  type StartWait,
  sumOf,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { presetNamed } from '@goshawk/policies';
import { type Job, TaskState } from '@goshawk/scheduler';
import { VirtualCluster } from '@goshawk/simulator';
import { jobSpecOf, openWorkload, type TraceJob } from '@goshawk/traces';
import { printReport, result } from './bench-report.js';
import { readOptions } from './script.js';

addPapers();

const options = readOptions(
  {
    workers: 1_000,
    load: 0.9,
    questions: 4_000,
    policy: 'goshawk',
    estimator: 'pilot',
    cutoff: 981,
    seed: '1',
  },
  true,
);

const SCHEDULERS = 10;
const SETTLING_MS = 1_000;
const WORKERS = options.workers;
const SHARES = [0.1, 0.5, 0.9] as const;

interface Question {
  readonly askedAt: Millis;
  readonly job: Job;
  readonly long: boolean;
  readonly basisMs: Millis;
  readonly said: StartWait | undefined;
  waitedMs: Millis;
}

const random = Random.seeded(options.seed);
const jobs: TraceJob[] = [];
for await (const job of (
  await openWorkload(options.positionals[0] ?? `google-like:jobs=20000,seed=${options.seed}`)
).jobs())
  jobs.push(job);
const workSeconds = sumOf(jobs, (job) => job.meanSeconds * job.durationsSeconds.length);
/** Traces may begin long after 0. */
const beginSeconds = jobs[0]!.submitSeconds;
const spanSeconds = jobs.at(-1)!.submitSeconds - beginSeconds;
/** Scales arrival times to reach the load. */
const stretch = workSeconds / (WORKERS * options.load) / spanSeconds;

const questions = play();
printReport('why', resultsOf(questions), options.json);

function play(): Question[] {
  const policy = options.policy as PolicyName;
  const settings: ClusterSettings = {
    policy: {
      ...DEFAULT_POLICY,
      policy,
      preset: presetNamed(policy),
      cutoffMs: options.cutoff * 1_000,
      estimator: options.estimator,
    },
    timings: RELIABLE_TIMINGS,
  };
  /** Jobs by their schedulers' numbers. */
  const active = new Map<Job, number>();
  const cluster = new VirtualCluster({
    workers: WORKERS,
    schedulers: SCHEDULERS,
    settings,
    seed: options.seed,
    onJobEnd: (job) => active.delete(job),
  });
  const asked: Question[] = [];
  const open = new Map<number, { readonly askedAt: Millis; readonly job: Job }>();
  let request = 0;
  const client = cluster.addOutsider((_from, message: Message) => {
    if (message.type !== 'centralLine') return;
    const { job, askedAt } = open.get(message.request)!;
    open.delete(message.request);
    const { needs, ...line } = (message as MessageOf<'centralLine'>).value;
    // With several needs, a start cannot be assigned to one of them.
    if (needs.length !== 1) return;
    const need = needs[0]!;
    const basisMs = expectedWaitMs(need, line) ?? 0;
    asked.push({ askedAt, job, long: job.class === 'long', basisMs, said: need.starts, waitedMs: 0 });
  });
  for (const [index, job] of jobs.entries()) {
    const spec = jobSpecOf(job, job.meanSeconds * 1_000);
    cluster.at(SETTLING_MS + (job.submitSeconds - beginSeconds) * stretch * 1_000, (now) => {
      const scheduler = index % SCHEDULERS;
      active.set(cluster.schedulers[scheduler]!.submit(spec, undefined, now), scheduler);
    });
  }
  const gapMs = (spanSeconds * stretch * 1_000) / options.questions;
  const ask = (now: Millis): void => {
    const waiting = [...active].filter(([job]) => job.tasks.countOf(TaskState.waiting) > 0);
    if (waiting.length > 0) {
      const [job, scheduler] = waiting[Math.floor(random.next() * waiting.length)]!;
      open.set(++request, { askedAt: now, job });
      cluster.post(client, cluster.centralAddress, {
        type: 'explainNeed',
        request,
        owner: cluster.nameOf(cluster.schedulerAddresses[scheduler]!),
        job: job.number,
      });
    }
    if (now < spanSeconds * stretch * 1_000) cluster.at(now - gapMs * Math.log(1 - random.next()), ask);
  };
  cluster.at(SETTLING_MS, ask);
  cluster.run();
  for (const question of asked) {
    const later = question.job.tasks.startedAt.filter((at) => at > question.askedAt);
    question.waitedMs = Math.min(...later) - question.askedAt;
  }
  return asked.filter(({ waitedMs }) => Number.isFinite(waitedMs));
}

/** Sorted by answer time, for the running median of past waits. */
function resultsOf(questions: Question[]) {
  const ordered = questions.sort((a, b) => a.askedAt + a.waitedMs - (b.askedAt + b.waitedMs));
  const past = { short: [] as number[], long: [] as number[] };
  const losses = { said: [0, 0, 0], basis: [0, 0, 0], median: [0, 0, 0] };
  let [foretold, within] = [0, 0];
  for (const { long, waitedMs, said, basisMs } of ordered) {
    const waits = past[long ? 'long' : 'short'];
    const median = waits.length === 0 ? 0 : [...waits].sort((a, b) => a - b)[waits.length >> 1]!;
    waits.push(waitedMs);
    if (said === undefined) continue;
    foretold++;
    if (waitedMs >= said.p10 && waitedMs <= said.p90) within++;
    SHARES.forEach((share, at) => {
      losses.said[at]! += pinball(waitedMs, [said.p10, said.p50, said.p90][at]!, share);
      losses.basis[at]! += pinball(waitedMs, basisMs, share);
      losses.median[at]! += pinball(waitedMs, median, share);
    });
  }
  const ratios = SHARES.map((share, at) =>
    result(`pinball loss at p${share * 100} ÷ better of two`, '', [
      losses.said[at]! / Math.min(losses.basis[at]!, losses.median[at]!),
    ]),
  );
  return [
    result('questions answered by a start', '', [ordered.length]),
    result('no answer', '%', [(100 * (ordered.length - foretold)) / ordered.length]),
    result('starts within p10 to p90', '%', [(100 * within) / foretold]),
    ...ratios,
  ];
}

function pinball(seen: number, said: number, share: number): number {
  return Math.max(share * (seen - said), (share - 1) * (seen - said));
}
