import {
  type Address,
  AddressNumbers,
  type BatchPart,
  type Environment,
  type MessageOf,
  type Millis,
  NOBODY,
} from '@goshawk/core';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';

/**
 * The owner's half of matching: tells central how many workers a stage needs, and gives a task to each that
 * comes. It says how many it needs in all, not what has changed, so that a message lost is made up for by the
 * next.
 */
export class Needer {
  readonly #env: Environment;
  readonly #declares: () => boolean;
  #central: Address = NOBODY;
  /** The last match of each worker, by the numbers of this central: one that comes again is no other one. */
  #last = new AddressNumbers();

  /** @param declares central is told whole jobs, before what of them waits */
  constructor(env: Environment, declares: () => boolean) {
    this.#env = env;
    this.#declares = declares;
  }

  /** Sees to it that central knows of all tasks of the stage that may run. */
  tell(job: Job, batch: Batch, central: Address, now: Millis): void {
    const tasks = tasksInNeed(job, batch);
    if (tasks <= batch.needTold) return;
    if (batch.matches === 0 && batch.needTold === 0) this.#declare(job, central, now);
    this.#tell(job, batch, tasks, central, now);
  }

  /** The job as a whole, where central plans whole jobs. */
  #declare(job: Job, central: Address, now: Millis): void {
    if (central === NOBODY || !this.#declares()) return;
    const { user, weight, deadlineMs, value, prefer } = job.spec;
    this.#env.send(central, {
      type: 'declare',
      job: job.number,
      user: user ?? '',
      weight,
      deadlineMs,
      value: value ?? 0,
      prefers: Object.entries(prefer ?? {}).map(([name, of]) => ({ name, value: of })),
      ageMs: now - job.acceptedAt,
      stages: job.stages.map((stage) => ({
        tasks: stage.count,
        ended: stage.count - stage.unfinished,
        after: stage.spec.after,
        demand: stage.spec.demand,
        estimateMs: job.estimateOf(stage) ?? job.believedMs,
        // A stage of which more is known is not like the whole job.
        distribution: job.estimateOf(stage) === undefined ? (job.distribution ?? []) : [],
      })),
    });
  }

  /** Tells again what central has not answered since then. */
  tellAgain(job: Job, central: Address, since: Millis, now: Millis): void {
    let isDeclared = false;
    for (const batch of batchesInNeed(job)) {
      const tasks = tasksInNeed(job, batch);
      if (tasks === 0 || batch.needToldAt > since) continue;
      if (!isDeclared) this.#declare(job, central, now);
      isDeclared = true;
      this.#tell(job, batch, tasks, central, now);
    }
  }

  /**
   * Central has matched workers with the stage. Each gets a task from `give`; those for whom there is none go
   * back to central.
   *
   * @param give binds a waiting task to the worker; false when there is none
   */
  matched(
    batch: Batch | undefined,
    message: MessageOf<'matched'>,
    central: Address,
    give: (worker: Address, match: number) => boolean,
    now: Millis,
  ): void {
    if (central !== this.#central) {
      this.#central = central;
      this.#last = new AddressNumbers();
    }
    for (const { worker, match } of message.workers) {
      if (match <= this.#last.get(worker)) continue;
      this.#last.set(worker, match);
      if (batch !== undefined) {
        batch.matches++;
        batch.needTold = Math.max(0, batch.needTold - 1);
        batch.needToldAt = now;
      }
      if (!give(worker, match)) this.#env.send(central, { type: 'unused', worker, match });
    }
  }

  /** If they come back, their matches are numbered anew. */
  forget(workers: Iterable<Address>): void {
    for (const worker of workers) this.#last.set(worker, 0);
  }

  /** No task of the stage waits any more. */
  satisfied(job: Job, batch: Batch, central: Address, now: Millis): void {
    if (batch.needTold > 0) this.#tell(job, batch, 0, central, now);
  }

  /** It was decided what the job is, or how long it is: central is to know, whether anything of it waits or not. */
  decided(job: Job, central: Address, now: Millis): void {
    const { pilots } = job.sample!;
    this.#declare(job, central, now);
    if (pilots.needTold > 0) this.#tell(job, pilots, 0, central, now);
    for (const stage of job.stages) {
      if (stage.needTold > 0 || stage.matches > 0)
        this.#tell(job, stage, tasksInNeed(job, stage), central, now);
    }
  }

  /** The job has ended: a central that plans whole jobs forgets it. */
  over(job: Job, central: Address): void {
    if (central !== NOBODY && this.#declares() && job.route.by === 'matching')
      this.#env.send(central, { type: 'withdraw', job: job.number });
  }

  #tell(job: Job, batch: Batch, tasks: number, central: Address, now: Millis): void {
    if (central === NOBODY) return;
    batch.needTold = tasks;
    batch.needToldAt = now;
    const arePilots = batch === job.sample?.pilots && job.isUndecided;
    this.#env.send(central, {
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
      ageMs: now - job.acceptedAt,
      estimateFollows: job.sample?.estimateFollows || undefined,
    });
  }
}

/** What central is told of. Pilots need workers by themselves, and the rest needs them in another way meanwhile. */
function batchesInNeed(job: Job): readonly Batch[] {
  const { sample } = job;
  return sample === undefined || sample.isDecided ? job.stages : [sample.pilots, ...job.stages];
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
