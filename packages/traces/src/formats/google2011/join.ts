import type { TraceJob } from '../../job.js';
import type { Tally } from '../../tally.js';
import { COUNTS } from './counts.js';
import { EventType, type JobEvent, type TaskEvent } from './events.js';
import { JobInFlight } from './job-in-flight.js';

/** So long after a job's end its tasks' last events are waited for; in the trace they come within a second. */
const STRAGGLERS_US = 60e6;

/** What became of a job id that is not in flight. */
const LEFT_OUT = 'left out';
const CONCLUDED = 'concluded';
type Known = JobInFlight | typeof LEFT_OUT | typeof CONCLUDED;

/**
 * Joins job and task events, in order of time, into jobs. A job is concluded a minute after its end, so
 * that memory holds the tasks of jobs that still wait or run, and a word for each job that has ended.
 */
export class Join {
  readonly #jobs = new Map<number, Known>();
  /** Jobs that have ended, the earliest end first. */
  #ended: JobInFlight[] = [];
  #concluded: TraceJob[] = [];
  readonly #tally: Tally;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  onJobEvent(event: JobEvent): void {
    if (isAfterTrace(event)) return;
    const job = this.#jobs.get(event.job);
    if (event.type === EventType.submit) {
      this.#onSubmit(event, job);
    } else if (job === undefined) {
      this.#leaveOutUnsubmitted(event.job);
    } else if (job instanceof JobInFlight && isEnd(event.type) && job.endedUs === undefined) {
      job.endedUs = event.timeUs;
      this.#ended.push(job);
    }
  }

  #onSubmit(event: JobEvent, job: Known | undefined): void {
    if (event.timeUs === 0) {
      if (job === undefined) this.#tally.add(COUNTS.beforeTrace);
      this.#jobs.set(event.job, LEFT_OUT);
      return;
    }
    if (job instanceof JobInFlight) {
      // A second record of the same submission.
      if (job.endedUs === undefined) return;
      this.#ended = this.#ended.filter((other) => other !== job);
      this.#conclude(job);
    }
    if (job !== undefined) this.#tally.add(COUNTS.submittedAgain);
    this.#jobs.set(event.job, new JobInFlight(event));
  }

  onTaskEvent(event: TaskEvent): void {
    if (isAfterTrace(event)) return;
    this.#concludeEndedBefore(event.timeUs - STRAGGLERS_US);
    const job = this.#jobs.get(event.job);
    if (job instanceof JobInFlight) job.onTaskEvent(event);
    else if (job === undefined) this.#leaveOutUnsubmitted(event.job);
    else if (job === CONCLUDED) this.#tally.add(COUNTS.lateEvents);
  }

  #leaveOutUnsubmitted(job: number): void {
    this.#tally.add(COUNTS.withoutSubmission);
    this.#jobs.set(job, LEFT_OUT);
  }

  #concludeEndedBefore(timeUs: number): void {
    let ended = 0;
    while (ended < this.#ended.length && this.#ended[ended]!.endedUs! < timeUs) ended++;
    if (ended === 0) return;
    for (const job of this.#ended.splice(0, ended)) this.#conclude(job);
  }

  #conclude(job: JobInFlight): void {
    this.#jobs.set(job.id, CONCLUDED);
    const taken = job.conclude(this.#tally);
    if (taken !== undefined) this.#concluded.push(taken);
  }

  /** The parts have ended: of jobs that still had something to do, nobody knows how long it took. */
  onEnd(): void {
    for (const job of this.#jobs.values()) {
      if (!(job instanceof JobInFlight)) continue;
      if (job.isAlive) this.#tally.add(COUNTS.cutOff);
      else this.#conclude(job);
    }
  }

  /** The jobs that were concluded since the last call. */
  take(): TraceJob[] {
    const taken = this.#concluded;
    this.#concluded = [];
    return taken;
  }
}

function isEnd(type: EventType): boolean {
  return (
    type === EventType.finish || type === EventType.fail || type === EventType.kill || type === EventType.lost
  );
}

/** The trace writes 2^63 − 1 there. */
function isAfterTrace(event: { readonly timeUs: number }): boolean {
  return event.timeUs > Number.MAX_SAFE_INTEGER;
}
