import { drawDistinct, effectiveScope, type JobSpec, type Millis, Random } from '@goshawk/core';
import type { SamplePlan, Verdict } from '@goshawk/predictor';
import type { Stage } from '../job/batch.js';
import { decide, decideBy, UNDECIDED } from '../job/classify.js';
import type { Job } from '../job/job.js';
import { Sample } from '../job/sample.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';
import { estimateRefined, jobClassified } from './routing.js';
import { slowdownAt } from './slowdown.js';

// Starts pilots of jobs that the estimator wants to sample, and passes run times of pilots and of ended jobs to it.

/** Samples a job of an earlier incarnation that has no class yet. Tasks that have ended count as pilots. */
export function resumeSampling(s: SchedulerState, job: Job, now: Millis): void {
  estimateRestored(s, job);
  if (job.hasPendingPredecessors) return;
  const { classifiedBy, sample, prediction } = job.estimate;
  if (classifiedBy !== UNDECIDED || sample !== undefined || job.cancelling || job.hasEnded) return;
  if (prediction.kind !== 'sample') return;
  startPilots(s, job, prediction);
  evaluatePilots(s, job, now);
}

/**
 * Estimates a restored job again. The journal does not contain estimates. A job without an estimate would
 * count as no work and go first.
 */
function estimateRestored({ estimators }: SchedulerState, job: Job): void {
  if (job.estimate.prediction.kind !== 'unknown') return;
  job.estimate.prediction = estimators.predict(job.arriving, job.spec);
  if (job.estimate.prediction.kind === 'unknown' || job.expectedRunMs > 0) return;
  const { estimateMs, guessMs, distribution } = decide(job.estimate.prediction, estimators.policy!);
  job.estimate.restore({ estimateMs, guessMs, distribution });
}

/** Draws the pilots from the largest stage that may start immediately. */
export function startPilots(s: SchedulerState, job: Job, plan: SamplePlan): void {
  const { preset } = s.estimators.policy!;
  const stage = largestInitialStage(job);
  const drawn = drawDistinct(randomSourceFor(s, job.spec), stage.count, plan.pilots);
  const tasks = drawn.map((index) => stage.first + index);
  const over = effectiveScope(preset, preset.long.over);
  job.startSample(new Sample(plan, tasks, stage, job.stages, over));
}

/** Evaluates the pilots after an outcome, or after some time. */
export function evaluatePilots(s: SchedulerState, job: Job, now: Millis): void {
  const { sample } = job.estimate;
  if (sample === undefined || job.cancelling || job.hasEnded) return;
  if (sample.state === 'decided') return;
  const evidence = sample.evidence((task) => {
    const state = job.tasks.stateOf(task);
    if (state === TaskState.completed) return { ran: job.tasks.runMsOf(task) };
    if (state === TaskState.running) return { runs: Math.max(0, job.elapsedMs(task, now)) };
    return job.tasks.isFinal(task) ? 'failed' : 'waiting';
  });
  const verdict = s.estimators.weigh(job.arriving, sample.plan, evidence);
  if (sample.state === 'refining') return refineEstimate(s, job, verdict, now);
  if (verdict.kind === 'wait') return s.env.setTimer('weigh', job.number, now + verdict.againInMs);
  s.env.clearTimer('weigh', job.number);
  classify(s, job, sample, verdict, now);
}

/** Sets the final estimate of a job that was classified as long while its pilots still ran. It stays long. */
function refineEstimate(s: SchedulerState, job: Job, verdict: Verdict, now: Millis): void {
  if (verdict.kind === 'wait' || verdict.provisional) return;
  job.estimate.refine(verdict.estimate);
  s.ledger.classified(job, now);
  estimateRefined(s, job, now);
}

function classify(
  s: SchedulerState,
  job: Job,
  sample: Sample,
  verdict: Exclude<Verdict, { kind: 'wait' }>,
  now: Millis,
): void {
  job.classify(decideBy(verdict.estimate, s.estimators.policy!), verdict.provisional === true, now);
  s.ledger.classified(job, now);
  s.events.classified(job, now);
  announceLong(s, job);
  jobClassified(s, job, sample, now);
}

/** Notifies workers that run tasks of the job that it is long. Probes behind these tasks may then be stolen. */
function announceLong(s: SchedulerState, job: Job): void {
  if (job.class === 'short') return;
  // Sent after the task itself, which may wait for the disk.
  for (const task of job.tasks.inStates(TaskState.running))
    s.ledger.sendWhenDurable(job.tasks.workerOf(task), { type: 'nowLong', ...job.tasks.ref(task) });
}

/** Passes the run times of an ended job to the estimator, once per job. */
export function learnFrom(s: SchedulerState, job: Job): void {
  const { estimators } = s;
  if (!estimators.canLearn || job.estimate.isLearned || job.taskCount === 0) return;
  const { completed, total } = job.counts;
  const runsMs = completed === 0 ? NO_RUNS : normalizedRunMs(s, job);
  let sum = 0;
  for (let i = 0; i < runsMs.length; i++) sum += runsMs[i]!;
  estimators.learn({
    job: job.arriving,
    prediction: job.estimate.prediction,
    completed: completed === total,
    long: runsMs.length > 0 && sum / runsMs.length >= estimators.policy!.cutoffMs,
    runtimeMs: job.doneAt! - job.times.eligibleAt,
    runsMs,
  });
}

const NO_RUNS = new Float64Array(0);

/** Run times of completed tasks, scaled to workers that the job prefers (3σPredict §4.1). */
function normalizedRunMs(s: SchedulerState, job: Job): Float64Array {
  if (job.spec.slowdown === undefined) return job.tasks.completedRunMs();
  const { members } = s.cluster;
  return job.tasks.completedRunMs((task) => slowdownAt(job, job.tasks.workerOf(task), members));
}

/** Returns the random source for pilots. A job with a seed always gets the same pilots, for reproducible runs. */
function randomSourceFor(s: SchedulerState, { seed }: JobSpec): { random(): number } {
  if (seed === undefined) return s.env;
  const stream = Random.seeded(`pilots ${seed}`);
  return { random: () => stream.next() };
}

function largestInitialStage(job: Job): Stage {
  const starting = job.stages.filter(({ blockers }) => blockers === 0);
  return starting.reduce((largest, stage) => (stage.count > largest.count ? stage : largest));
}
