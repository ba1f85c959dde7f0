import type { JobSpec, Millis, ParentRun, RetryChoice } from '@goshawk/core';
import type { Dispatch } from '../dispatch/dispatch.js';
import type { Routing } from '../dispatch/routing.js';
import type { Sampler } from '../dispatch/sampler.js';
import { arrivingJobOf } from '../job/arriving.js';
import { decide } from '../job/classify.js';
import { holdOf } from '../job/hold.js';
import { Job } from '../job/job.js';
import { setDeadlineTimer, setOpenTimer } from '../job/job-timers.js';
import type { Reopening } from '../job/reopening.js';
import type { SchedulerState } from '../state.js';
import type { Holds } from './holds.js';
import type { Predecessors } from './predecessors.js';

/** Creates jobs from submissions, and withdraws those with the key of another job. */
export class Intake {
  readonly #s: SchedulerState;
  readonly #routing: Routing;
  readonly #sampler: Sampler;
  readonly #predecessors: Predecessors;
  readonly #holds: Holds;

  constructor(s: SchedulerState, { routing, sampler }: Dispatch, predecessors: Predecessors, holds: Holds) {
    this.#s = s;
    this.#routing = routing;
    this.#sampler = sampler;
    this.#predecessors = predecessors;
    this.#holds = holds;
  }

  /**
   * Creates a job, records it, and starts the search for workers.
   *
   * @param key chosen by the client; a known key returns the existing job
   * @param ageMs how long it has been able to start
   * @throws InputError if the journal cannot encode it
   */
  accept(spec: JobSpec, key: string | undefined, now: Millis, ageMs = 0): Job {
    const { cluster, jobs, ledger } = this.#s;
    const known = key === undefined ? undefined : jobs.byKey(key, spec.user);
    if (known !== undefined) return known;
    const { wallOffsetMs, hasPrivateNames = false } = this.#s.config;
    const arriving = arrivingJobOf(spec, now + wallOffsetMs, hasPrivateNames);
    const prediction = this.#sampler.predict(arriving, spec);
    const { number, id } = jobs.allocateId();
    const decision = decide(prediction, cluster.joinedPolicy);
    const hold = holdOf(spec, now, now + this.#s.config.wallOffsetMs);
    const project = this.#s.quotas.projectOf(spec.user);
    const about = { number, id, key, spec, project, arriving, prediction, decision };
    const job = new Job({ ...about, acceptedAt: now, hold });
    job.history.shareCrashes(this.#s.crashes.find(() => job.history.program));
    if (prediction.kind === 'sample') this.#sampler.startPilots(job, prediction);
    job.client.activeAt = now;
    job.times.eligibleAt -= ageMs;
    // Before the job is added, because this throws if the record cannot be encoded.
    ledger.accepted(job, now);
    jobs.add(job);
    if (ledger.isShared) this.#s.notDurableJobs.add(job);
    else {
      this.#s.events.accepted(job);
      ledger.whenDurable(() => this.#s.events.recorded(job), now);
    }
    if (!job.hasPendingPredecessors) this.#routing.startJob(job, now);
    // Whether the key is unique in the cluster is known only once the record is durable.
    if (ledger.isShared)
      ledger.whenDurable((then) => {
        if (jobs.byNumber(number) === job) {
          this.#s.events.accepted(job);
          this.#s.events.recorded(job);
        }
        this.#becameDurable(job, then);
      }, now);
    else setDeadlineTimer(job, cluster, this.#s.env);
    setOpenTimer(job, this.#s.env);
    if (job.hasPendingPredecessors) this.#predecessors.track(job, now);
    this.#holds.add(job, now);
    return job;
  }

  /**
   * Runs tasks of an ended job again, as further attempts. No task is assigned before the retry is durable. Otherwise
   * the job would count as ended after a crash, while its tasks run.
   */
  reopen(
    job: Job,
    reopening: Reopening,
    { key, choice }: { readonly key: string; readonly choice: RetryChoice },
    now: Millis,
  ): void {
    const { jobs, ledger } = this.#s;
    ledger.retried(job, key, choice, now);
    jobs.reopen(job, () => job.reopen(reopening, key, choice, now));
    this.#s.notDurableJobs.add(job);
    // Draws the pilots first. Otherwise probes would be sent for tasks that must wait for the pilots.
    this.#sampler.resume(job, now);
    if (job.hasPendingPredecessors) this.#predecessors.track(job, now);
    else this.#routing.startJob(job, now);
    this.#holds.add(job, now);
    ledger.whenDurable((then) => this.#becameDurable(job, then), now);
  }

  /** Another attempt of the task that submitted the job has submitted it again, and may wait for it. */
  adopt(job: Job, parent: ParentRun, now: Millis): void {
    if (job.parent?.worker === parent.worker && job.parent.match === parent.match) return;
    job.parent = parent;
    this.#routing.parentChanged(job, now);
  }

  /** Withdraws an accepted job, because another job of the cluster has its key. */
  withdraw(job: Job): void {
    this.#routing.withdraw(job);
    this.#predecessors.untrack(job);
    this.#s.jobs.withdraw(job);
  }

  #becameDurable(job: Job, now: Millis): void {
    const questions = this.#s.notDurableJobs.remove(job);
    const isAdopted = this.#s.jobs.byNumber(job.number) === job;
    for (const ask of questions) ask(now);
    if (!isAdopted || job.cancelling || job.hasEnded) return;
    this.#routing.findWorkersForAll(job, now);
    setDeadlineTimer(job, this.#s.cluster, this.#s.env);
  }
}
