import type { JobSpec, Millis, ParentRun, RetryChoice } from '@goshawk/core';
import { findWorkersForAll, parentChanged, startJob, withdrawSearch } from '../dispatch/routing.js';
import { resumeSampling, startPilots } from '../dispatch/sampling.js';
import { arrivingJobOf } from '../job/arriving.js';
import { decide } from '../job/classify.js';
import { holdOf } from '../job/hold.js';
import { Job } from '../job/job.js';
import { setDeadlineTimer, setOpenTimer } from '../job/job-timers.js';
import type { Reopening } from '../job/reopening.js';
import type { SchedulerState } from '../state/state.js';
import { addBeginTime } from './holds.js';
import { trackPredecessors, untrackPredecessors } from './predecessors.js';

// Creates jobs from submissions, and withdraws those with the key of another job.

/**
 * Creates a job, records it, and starts the search for workers.
 *
 * @param key chosen by the client; a known key returns the existing job
 * @param ageMs how long it has been able to start
 * @throws InputError if the journal cannot encode it
 */
export function acceptJob(
  s: SchedulerState,
  spec: JobSpec,
  key: string | undefined,
  now: Millis,
  ageMs = 0,
): Job {
  const { cluster, jobs, ledger } = s;
  const known = key === undefined ? undefined : jobs.byKey(key, spec.user);
  if (known !== undefined) return known;
  const { wallOffsetMs, hasPrivateNames = false } = s.config;
  const arriving = arrivingJobOf(spec, now + wallOffsetMs, hasPrivateNames);
  const prediction = s.estimators.predict(arriving, spec);
  const { number, id } = jobs.allocateId();
  const decision = decide(prediction, cluster.joinedPolicy);
  const hold = holdOf(spec, now, now + s.config.wallOffsetMs);
  const project = s.quotas.projectOf(spec.user);
  const about = { number, id, key, spec, project, arriving, prediction, decision };
  const job = new Job({ ...about, acceptedAt: now, hold });
  job.history.shareCrashes(s.crashes.find(() => job.history.program));
  if (prediction.kind === 'sample') startPilots(s, job, prediction);
  job.client.activeAt = now;
  job.times.eligibleAt -= ageMs;
  // Before the job is added, because this throws if the record cannot be encoded.
  ledger.accepted(job, now);
  jobs.add(job);
  if (ledger.isShared) s.notDurableJobs.add(job);
  else {
    s.events.accepted(job);
    ledger.whenDurable(() => s.events.recorded(job), now);
  }
  if (!job.hasPendingPredecessors) startJob(s, job, now);
  // Whether the key is unique in the cluster is known only once the record is durable.
  if (ledger.isShared)
    ledger.whenDurable((then) => {
      if (jobs.byNumber(number) === job) {
        s.events.accepted(job);
        s.events.recorded(job);
      }
      becameDurable(s, job, then);
    }, now);
  else setDeadlineTimer(job, cluster, s.env);
  setOpenTimer(job, s.env);
  if (job.hasPendingPredecessors) trackPredecessors(s, job, now);
  addBeginTime(s, job, now);
  return job;
}

/**
 * Runs tasks of an ended job again, as further attempts. No task is assigned before the retry is durable. Otherwise
 * the job would count as ended after a crash, while its tasks run.
 */
export function reopenJob(
  s: SchedulerState,
  job: Job,
  reopening: Reopening,
  { key, choice }: { readonly key: string; readonly choice: RetryChoice },
  now: Millis,
): void {
  const { jobs, ledger } = s;
  ledger.retried(job, key, choice, now);
  jobs.reopen(job, () => job.reopen(reopening, key, choice, now));
  s.notDurableJobs.add(job);
  // Draws the pilots first. Otherwise probes would be sent for tasks that must wait for the pilots.
  resumeSampling(s, job, now);
  if (job.hasPendingPredecessors) trackPredecessors(s, job, now);
  else startJob(s, job, now);
  addBeginTime(s, job, now);
  ledger.whenDurable((then) => becameDurable(s, job, then), now);
}

/** Another attempt of the task that submitted the job has submitted it again, and may wait for it. */
export function setParent(s: SchedulerState, job: Job, parent: ParentRun, now: Millis): void {
  if (job.parent?.worker === parent.worker && job.parent.match === parent.match) return;
  job.parent = parent;
  parentChanged(s, job, now);
}

/** Withdraws an accepted job, because another job of the cluster has its key. */
export function withdrawJob(s: SchedulerState, job: Job): void {
  withdrawSearch(s, job);
  untrackPredecessors(s, job);
  s.jobs.withdraw(job);
}

function becameDurable(s: SchedulerState, job: Job, now: Millis): void {
  const questions = s.notDurableJobs.remove(job);
  const isAdopted = s.jobs.byNumber(job.number) === job;
  for (const ask of questions) ask(now);
  if (!isAdopted || job.cancelling || job.hasEnded) return;
  findWorkersForAll(s, job, now);
  setDeadlineTimer(job, s.cluster, s.env);
}
