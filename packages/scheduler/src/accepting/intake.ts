import type { JobSpec, Millis } from '@goshawk/core';
import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import { watchDeadline } from '../ending/deadline.js';
import type { Routing } from '../finding/routing.js';
import { Job } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Ledger } from '../keeping/ledger.js';
import type { Unwritten } from '../keeping/unwritten.js';
import type { JobEvents } from '../observing/job-events.js';
import type { Sampler } from '../sampling/sampler.js';
import { arrivingJobOf } from './arriving.js';
import { decide } from './classify.js';
import type { Predecessors } from './predecessors.js';

/** Makes a job of what was submitted, writes it down and starts to look for workers. */
export class Intake {
  readonly #env: SchedulerEnvironment;
  readonly #config: SchedulerConfig;
  readonly #enlistment: Enlistment;
  readonly #jobs: JobStore;
  readonly #ledger: Ledger;
  readonly #unwritten: Unwritten;
  readonly #sampler: Sampler;
  readonly #routing: Routing;
  readonly #events: JobEvents;
  readonly #predecessors: Predecessors;

  constructor(
    env: SchedulerEnvironment,
    config: SchedulerConfig,
    enlistment: Enlistment,
    jobs: JobStore,
    ledger: Ledger,
    unwritten: Unwritten,
    sampler: Sampler,
    routing: Routing,
    events: JobEvents,
    predecessors: Predecessors,
  ) {
    this.#env = env;
    this.#config = config;
    this.#enlistment = enlistment;
    this.#jobs = jobs;
    this.#ledger = ledger;
    this.#unwritten = unwritten;
    this.#sampler = sampler;
    this.#routing = routing;
    this.#events = events;
    this.#predecessors = predecessors;
  }

  /** @param key chosen by the client; a key that is known gives the job that has it */
  accept(spec: JobSpec, key: string | undefined, now: Millis): Job {
    const known = key === undefined ? undefined : this.#jobs.byKey(key);
    if (known !== undefined) return known;
    const { policy } = this.#enlistment;
    const arriving = arrivingJobOf(spec, now + this.#config.wallOffsetMs);
    const judgement = this.#sampler.judge(arriving);
    const { number, id } = this.#jobs.nextName();
    const decision = decide(judgement, policy);
    const job = new Job({ number, id, spec, arriving, judgement, decision, acceptedAt: now });
    if (judgement.kind === 'sample') this.#sampler.start(job, judgement);
    this.#jobs.add(job, key);
    this.#ledger.accepted(job, key, this.#jobs.bytesOf(job), now);
    if (this.#ledger.isShared) this.#unwritten.add(job);
    else this.#events.accepted(job);
    if (!job.isAwaiting)
      for (const stage of job.stages) if (stage.blockers === 0) this.#routing.startStage(job, stage, now);
    // Where a key is one for the cluster, it is known only when it is written whether it is this job's.
    if (this.#ledger.isShared) this.#ledger.whenDurable((then) => this.#isWritten(job, then), now);
    else watchDeadline(job, policy, this.#env);
    if (job.isAwaiting) this.#predecessors.hold(job, now);
    return job;
  }

  #isWritten(job: Job, now: Millis): void {
    const questions = this.#unwritten.settled(job);
    const isTheirs = this.#jobs.byNumber(job.number) === job;
    if (isTheirs) this.#events.accepted(job);
    for (const ask of questions) ask(now);
    if (!isTheirs || job.cancelling || job.hasEnded) return;
    this.#routing.findAll(job, now);
    watchDeadline(job, this.#enlistment.policy, this.#env);
  }
}
