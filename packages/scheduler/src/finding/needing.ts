import { type BatchPart, listAttributes, type Millis, NOBODY, SLACK } from '@goshawk/core';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state.js';

/**
 * The owner's half of matching: tells central how many workers a batch needs. It says how many it needs in all, not what has changed, so that a message lost is made up for by the
 * next.
 */
export class Needer {
  readonly #s: SchedulerState;

  constructor(s: SchedulerState) {
    this.#s = s;
  }

  /** Central is told whole jobs, before what of them waits. */
  #declares(): boolean {
    return this.#s.cluster.policy.preset.declares;
  }

  /** Sees to it that central knows of all tasks of the stage that may run. */
  tell(job: Job, batch: Batch, now: Millis): void {
    if (tasksInNeed(job, batch) <= batch.needSent) return;
    if (batch.matches === 0 && batch.needSent === 0) this.#declare(job, now);
    this.#tell(job, batch, now);
  }

  /** The job as a whole, where central plans whole jobs. */
  #declare(job: Job, now: Millis): void {
    if (this.#s.cluster.central === NOBODY || !this.#declares()) return;
    const { user, weight, priority = 'normal', deadlineMs, value, prefer } = job.spec;
    this.#s.env.send(this.#s.cluster.central, {
      type: 'declare',
      job: job.number,
      user: user ?? '',
      weight: weight / SLACK[priority],
      // It counts from the submission.
      deadlineMs: deadlineMs === undefined ? undefined : Math.max(0, job.deadlineAt - job.arrivedAt),
      value: value ?? 0,
      prefers: listAttributes(prefer) ?? [],
      ageMs: now - job.arrivedAt,
      stages: job.stages.map((stage) => ({
        tasks: stage.count,
        ended: stage.count - stage.unfinished,
        after: stage.spec.after,
        demand: stage.spec.demand,
        estimateMs: job.estimateOf(stage) ?? job.believedMs,
        // A stage of which more is known is not like the whole job.
        distribution: job.estimateOf(stage) === undefined ? (job.distribution ?? []) : [],
        requires: listAttributes(stage.spec.requires),
      })),
    });
  }

  /** Tells all there is to tell: of what runs, too, another central knows no more than where it runs. */
  tellAll(job: Job, now: Millis): void {
    this.#declare(job, now);
    for (const batch of batchesInNeed(job)) this.#tell(job, batch, now);
  }

  /** Tells again what central has not answered since then, and what is much less by now: workers that serve a job come by themselves. */
  tellAgain(job: Job, since: Millis, now: Millis): void {
    const due = batchesInNeed(job).filter(
      (batch) => batch.needSentAt <= since || batch.needSent > OVERSTATED * tasksInNeed(job, batch),
    );
    if (due.length > 0) this.#declare(job, now);
    for (const batch of due) this.#tell(job, batch, now);
  }

  /** No task of the stage waits any more. */
  satisfied(job: Job, batch: Batch, now: Millis): void {
    if (batch.needSent > 0) this.#tell(job, batch, now, 0);
  }

  /** It was decided what the job is, or how long it is: central is to know, whether anything of it waits or not. */
  decided(job: Job, now: Millis): void {
    const { pilots } = job.sample!;
    this.#declare(job, now);
    if (pilots.needSent > 0) this.#tell(job, pilots, now, 0);
    for (const stage of job.stages) if (stage.needSent > 0 || stage.matches > 0) this.#tell(job, stage, now);
  }

  /** The job has ended: a central that plans whole jobs forgets it. */
  jobEnded(job: Job): void {
    if (this.#s.cluster.central !== NOBODY && this.#declares() && job.route.by === 'matching')
      this.withdraw(job);
  }

  withdraw(job: Job): void {
    const { central } = this.#s.cluster;
    if (central !== NOBODY) this.#s.env.send(central, { type: 'withdraw', job: job.number });
  }

  #tell(job: Job, batch: Batch, now: Millis, tasks = tasksInNeed(job, batch)): void {
    if (this.#s.cluster.central === NOBODY) return;
    batch.needSent = tasks;
    batch.needSentAt = now;
    const arePilots = batch === job.sample?.pilots && job.isUndecided;
    this.#s.env.send(this.#s.cluster.central, {
      type: 'need',
      job: job.number,
      stage: batch.index,
      long: job.class === 'long',
      tasks,
      matches: batch.matches,
      // Pilots come before all others. Who plans whole jobs goes by stages, others by what a job is.
      estimateMs: arePilots ? 0 : ((this.#declares() ? job.estimateOf(batch) : undefined) ?? job.believedMs),
      demand: batch.spec.demand,
      part: partOf(job, batch),
      jobTasks: job.taskCount,
      ageMs: now - job.arrivedAt,
      estimateFollows: job.sample?.estimateFollows || undefined,
      priority: job.spec.priority,
      requires: listAttributes(batch.spec.requires),
      attainedMs: job.history.workedMs + job.history.wastedMs || undefined,
    });
  }
}

/** Central plans by what it was told: so many times as many tasks as wait are too many. */
const OVERSTATED = 1.1;

/** What central is told of. Pilots need workers by themselves, and the rest needs them in another way meanwhile. */
function batchesInNeed(job: Job): readonly Batch[] {
  const batches = job.isUndecided ? [job.sample!.pilots, ...job.stages] : job.stages;
  return batches.filter((batch) => tasksInNeed(job, batch) > 0);
}

/** A job that limits how many of its tasks run needs no more workers than that. */
function tasksInNeed(job: Job, batch: Batch): number {
  return job.cancelling ? 0 : Math.min(batch.waiting, job.headroom);
}

function partOf(job: Job, batch: Batch): BatchPart {
  if (job.judgement.kind === 'thin') return 'thin';
  if (!job.isUndecided) return 'judged';
  return batch === job.sample?.pilots ? 'pilots' : 'early';
}

/** Central has matched a worker with the batch. */
export function matchArrived(batch: Batch, now: Millis): void {
  batch.matches++;
  batch.needSent = Math.max(0, batch.needSent - 1);
  batch.needSentAt = now;
}
