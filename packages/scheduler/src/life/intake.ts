import type { JobSpec, Millis, RetryChoice } from '@goshawk/core';
import { arrivingJobOf } from '../job/arriving.js';
import { decide } from '../job/classify.js';
import { holdOf } from '../job/hold.js';
import { Job } from '../job/job.js';
import { watchDeadline, watchOpen } from '../job/job-timers.js';
import type { Reopening } from '../job/reopening.js';
import type { SchedulerParts } from '../parts.js';

/**
 * Makes a job of what was submitted, writes it down and starts to look for workers.
 *
 * @param key chosen by the client; a key that is known gives the job that has it
 * @throws InputError where the journal cannot write it
 */
export function accept(s: SchedulerParts, spec: JobSpec, key: string | undefined, now: Millis): Job {
  const { cluster, jobs, ledger, sampler } = s;
  const known = key === undefined ? undefined : jobs.byKey(key, spec.user);
  if (known !== undefined) return known;
  const arriving = arrivingJobOf(spec, now + s.config.wallOffsetMs);
  const judgement = sampler.judge(arriving, spec);
  const { number, id } = jobs.nextName();
  const decision = decide(judgement, cluster.policy);
  const hold = holdOf(spec, now, now + s.config.wallOffsetMs);
  const job = new Job({ number, id, key, spec, arriving, judgement, decision, acceptedAt: now, hold });
  job.history.shareCrashes(s.crashes.known(() => job.history.program));
  if (judgement.kind === 'sample') sampler.start(job, judgement);
  job.heardAt = now;
  // First, since a record that cannot be encoded throws: nothing is known of the job then.
  ledger.accepted(job, now);
  jobs.add(job);
  if (ledger.isShared) s.unwritten.add(job);
  else s.events.accepted(job);
  if (!job.isAwaiting) s.routing.startJob(job, now);
  // Cluster-wide keys are decided only when the record is written.
  if (ledger.isShared)
    ledger.whenDurable((then) => {
      if (jobs.byNumber(number) === job) s.events.accepted(job);
      isWritten(s, job, then);
    }, now);
  else watchDeadline(job, cluster.policy, s.env);
  watchOpen(job, s.env);
  if (job.isAwaiting) s.predecessors.hold(job, now);
  s.holds.watch(job, now);
  return job;
}

/**
 * Runs tasks of an ended job again, as further attempts. Nothing is given out before the retry is on the disk: after a crash
 * the job would have ended, and its tasks would run unknown to anybody.
 */
export function reopen(
  s: SchedulerParts,
  job: Job,
  reopening: Reopening,
  { key, choice }: { readonly key: string; readonly choice: RetryChoice },
  now: Millis,
): void {
  const { jobs, ledger } = s;
  ledger.retried(job, key, choice, now);
  jobs.reopen(job, () => job.reopen(reopening, key, now));
  s.unwritten.add(job);
  // Pilots are drawn before workers are looked for, or probes would go out for tasks that wait for them.
  s.sampler.resume(job, now);
  if (job.isAwaiting) s.predecessors.hold(job, now);
  else s.routing.startJob(job, now);
  s.holds.watch(job, now);
  ledger.whenDurable((then) => isWritten(s, job, then), now);
}

function isWritten(s: SchedulerParts, job: Job, now: Millis): void {
  const questions = s.unwritten.settled(job);
  const isTheirs = s.jobs.byNumber(job.number) === job;
  for (const ask of questions) ask(now);
  if (!isTheirs || job.cancelling || job.hasEnded) return;
  s.routing.findAll(job, now);
  watchDeadline(job, s.cluster.policy, s.env);
}
