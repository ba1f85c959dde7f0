import {
  type Address,
  isExcused,
  type JobRecord,
  type JobRecordOf,
  type Millis,
  NOBODY,
} from '@goshawk/core';
import { arrivingJobOf } from './arriving.js';
import { Job, TaskState } from './job.js';

/** A job as it was when its owner last wrote something down. */
export interface RebuiltJob {
  readonly job: Job;
  readonly key: string | undefined;
}

interface Surroundings {
  /** Wall clock minus the machine's clock. */
  readonly wallOffsetMs: Millis;
  idOf(job: number): string;
  /** Stands for a worker of which the name is left. */
  formerly(worker: string): Address;
}

/**
 * Makes jobs of records. What was running is waiting: whether it still runs is for its worker to say. Attempts of
 * tasks that have not ended count on from those that may have been started and were not written down.
 *
 * @param records by job, each from its acceptance on; those of a job that was forgotten may be there or not
 */
export function* rebuildJobs(records: Iterable<JobRecord>, around: Surroundings): Iterable<RebuiltJob> {
  let group: JobRecord[] = [];
  for (const record of records) {
    if (group.length > 0 && record.job !== group[0]!.job) {
      yield* rebuilt(group, around);
      group = [];
    }
    group.push(record);
  }
  yield* rebuilt(group, around);
}

function* rebuilt(records: readonly JobRecord[], around: Surroundings): Iterable<RebuiltJob> {
  const accepted = records.find((record) => record.kind === 'accepted');
  if (accepted === undefined || records.some(({ kind }) => kind === 'forgotten')) return;
  const rebuild = new Rebuild(accepted, records, around);
  yield { job: rebuild.job, key: accepted.key };
}

class Rebuild {
  readonly job: Job;
  readonly #around: Surroundings;
  readonly #usedUpTo: Uint32Array;

  constructor(accepted: JobRecordOf<'accepted'>, records: readonly JobRecord[], around: Surroundings) {
    this.#around = around;
    // What it was taken for last is what it is taken for.
    const decided = records.findLast(isClassification);
    const { class: jobClass, classifiedBy: by, route } = decided ?? accepted;
    const { spec } = accepted;
    this.job = new Job({
      number: accepted.job,
      id: around.idOf(accepted.job),
      spec,
      arriving: arrivingJobOf(spec, accepted.at),
      judgement: { kind: 'unknown' },
      decision: {
        class: jobClass,
        by,
        estimateMs: decided?.estimateMs ?? spec.estimateMs,
        guessMs: undefined,
        route,
        lane: 'normal',
      },
      acceptedAt: this.#machineTime(accepted.at),
    });
    this.#usedUpTo = new Uint32Array(this.job.taskCount);
    this.job.usedUpTo = this.#usedUpTo;
    for (const stage of this.job.stages) if (stage.blockers === 0) this.job.release(stage);
    for (const record of records) this.#apply(record);
    this.#settle();
  }

  #apply(record: JobRecord): void {
    switch (record.kind) {
      case 'attempt':
        return this.#attemptEnded(record);
      case 'cancelled':
        this.job.cancelling = true;
        return;
      case 'ended':
        this.job.endedAt = this.#machineTime(record.at);
        return;
      case 'declined':
        return this.#given(record.task, record.attempt);
      case 'resumed':
        return this.#mayHaveStarted();
      case 'accepted':
      case 'classified':
      case 'forgotten':
      case 'schedulers':
        return;
    }
  }

  #attemptEnded({ task, attempt, outcome, worker, runMs, at }: JobRecordOf<'attempt'>): void {
    const { job } = this;
    if (task >= job.taskCount || job.isFinal(task)) return;
    const now = this.#machineTime(at);
    const startedAt = now - runMs;
    this.#given(task, attempt);
    job.attemptsTotal++;
    job.firstStartAt = Math.min(job.firstStartAt ?? startedAt, startedAt);
    const end = (state: TaskState): void => {
      job.startedAt[task] = startedAt;
      job.runMs[task] = runMs;
      job.workers[task] = this.#around.formerly(worker);
      job.set(task, state);
      const stage = job.stageOf(task);
      if (stage.unfinished === 0) for (const next of job.stageEnded(stage)) job.release(next);
    };
    if (outcome.kind === 'completed') {
      job.setValue(task, outcome.value);
      job.workedMs += runMs;
      end(TaskState.completed);
    } else if (isExcused(outcome)) {
      job.attemptExcused(task, outcome, worker, runMs, now);
    } else if (outcome.kind === 'lost') {
      if (!job.attemptLost(task, worker, runMs, now))
        end(job.cancelling ? TaskState.cancelled : TaskState.failed);
    } else if (outcome.kind === 'cancelled' && job.cancelling) {
      end(TaskState.cancelled);
    } else if (!job.attemptFailed(task, outcome, worker, runMs, now)) {
      end(TaskState.failed);
    }
  }

  /** Nothing of a job that was cancelled, or has ended, is started again. */
  #settle(): void {
    const { job } = this;
    const isOver = job.cancelling || job.hasEnded;
    for (let task = 0; task < job.taskCount; task++) {
      if (job.isFinal(task)) continue;
      if (isOver) job.set(task, TaskState.cancelled);
      else job.workers[task] = NOBODY;
    }
    this.#mayHaveStarted();
  }

  #given(task: number, attempt: number): void {
    if (task >= this.job.taskCount) return;
    this.job.attempts[task] = Math.max(this.job.attempts[task]!, attempt);
    this.#usedUpTo[task] = Math.max(this.#usedUpTo[task]!, attempt);
  }

  /** The incarnation that is gone may have given each task one attempt more than was written down. */
  #mayHaveStarted(): void {
    for (let task = 0; task < this.job.taskCount; task++) {
      if (!this.job.isFinal(task)) this.#usedUpTo[task]!++;
    }
  }

  #machineTime(at: Millis): Millis {
    return at - this.#around.wallOffsetMs;
  }
}

function isClassification(record: JobRecord): record is JobRecordOf<'classified'> {
  return record.kind === 'classified';
}
