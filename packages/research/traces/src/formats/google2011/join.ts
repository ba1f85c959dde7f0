import { present } from '@goshawk/core';
import { jobOf, type MachineShare, type TraceJob } from '../../job.js';
import type { Countable, Tally } from '../../tally.js';
import { EventType, type JobEvent, type TaskEvent } from './events.js';

/** Omissions and changes while reading the tables, shown by `trace stats` and `trace convert`. */
const COUNTS = {
  beforeTrace: {
    code: 'jobs-before-trace',
    what: 'jobs submitted before the trace began (time 0): omitted',
  },
  withoutSubmission: {
    code: 'jobs-without-submission',
    what: 'jobs whose submission is not in these parts: omitted',
  },
  withoutTasks: {
    code: 'jobs-without-tasks',
    what: 'jobs without a task event in these parts: omitted',
  },
  cutOff: {
    code: 'jobs-cut-off',
    what: 'jobs with tasks that wait or run when the parts end: omitted',
  },
  nothingFinished: {
    code: 'jobs-nothing-finished',
    what: 'jobs with no finished task: omitted',
  },
  partlyFinished: {
    code: 'jobs-partly-finished',
    what: 'jobs with some unfinished tasks: read without those tasks',
  },
  submittedAgain: {
    code: 'jobs-submitted-again',
    what: 'jobs submitted again under the same id after their end: read as separate jobs',
  },
  evicted: { code: 'tasks-evicted', what: 'tasks evicted that never finished: omitted' },
  failed: { code: 'tasks-failed', what: 'tasks that failed and never finished: omitted' },
  killed: { code: 'tasks-killed', what: 'tasks killed before they finished: omitted' },
  lost: { code: 'tasks-lost', what: 'lost tasks that never finished: omitted' },
  withoutStart: {
    code: 'tasks-without-start',
    what: 'tasks that finished without a recorded start: omitted',
  },
  withoutEnd: { code: 'tasks-without-end', what: 'tasks whose end was not recorded: omitted' },
  ranAgain: {
    code: 'tasks-run-again',
    what: 'tasks that ran more than once: the last attempt that finished is used',
  },
  requestsDiffer: {
    code: 'jobs-requests-differ',
    what: 'jobs whose tasks request different amounts: the largest of each is used',
  },
  lateEvents: {
    code: 'events-late',
    what: 'task events long after the end of their job: ignored',
  },
} as const;

/** State of a task so far. */
interface TaskRun {
  /** The last event that changed its state; updates of requests do not. */
  last: EventType;
  /** Start of the running attempt; undefined if none runs. */
  startedUs: number | undefined;
  /** Run time of the last attempt that finished. */
  durationUs: number | undefined;
  attempts: number;
}

const OUTCOMES: Partial<Record<EventType, Countable>> = {
  [EventType.evict]: COUNTS.evicted,
  [EventType.fail]: COUNTS.failed,
  [EventType.finish]: COUNTS.withoutStart,
  [EventType.kill]: COUNTS.killed,
  [EventType.lost]: COUNTS.lost,
};

/** A job with possible further events: tasks by index, each with its attempts so far. */
class JobInFlight {
  readonly id: number;
  /** End according to the job's events; events of its tasks may follow shortly afterwards. */
  endedUs: number | undefined;
  readonly #submission: JobEvent;
  readonly #tasks = new Map<number, TaskRun>();
  #request: MachineShare | undefined;
  #requestsDiffer = false;

  constructor(submission: JobEvent) {
    this.id = submission.job;
    this.#submission = submission;
  }

  onTaskEvent(event: TaskEvent): void {
    const { type, timeUs } = event;
    if (type === EventType.updatePending || type === EventType.updateRunning) return;
    let run = this.#tasks.get(event.task);
    // A sample may lack the submissions of tasks.
    const isFirst = run === undefined;
    if (run === undefined) {
      run = { last: type, startedUs: undefined, durationUs: undefined, attempts: 0 };
      this.#tasks.set(event.task, run);
    }
    run.last = type;
    if ((isFirst || type === EventType.submit) && event.request !== undefined) this.#widen(event.request);
    if (type === EventType.submit) return;
    if (type === EventType.schedule) {
      run.startedUs = timeUs;
      run.attempts++;
    } else {
      if (type === EventType.finish && run.startedUs !== undefined) run.durationUs = timeUs - run.startedUs;
      run.startedUs = undefined;
    }
  }

  #widen(request: MachineShare): void {
    const { cpu, memory, disk } = this.#request ?? request;
    this.#requestsDiffer ||= cpu !== request.cpu || memory !== request.memory || disk !== request.disk;
    this.#request = {
      cpu: Math.max(cpu, request.cpu),
      memory: Math.max(memory, request.memory),
      disk: Math.max(disk, request.disk),
    };
  }

  /** Whether a task waits or runs. */
  get isAlive(): boolean {
    for (const { last } of this.#tasks.values()) if (OUTCOMES[last] === undefined) return true;
    return false;
  }

  /** Returns the job with its finished tasks, by index; undefined if there are none. */
  conclude(tally: Tally): TraceJob | undefined {
    if (this.#tasks.size === 0) {
      tally.add(COUNTS.withoutTasks);
      return undefined;
    }
    const durations = this.#finishedDurations(tally);
    if (durations.length === 0) {
      tally.add(COUNTS.nothingFinished);
      return undefined;
    }
    if (durations.length < this.#tasks.size) tally.add(COUNTS.partlyFinished);
    if (this.#requestsDiffer) tally.add(COUNTS.requestsDiffer);
    const { timeUs, user, schedulingClass, name, logicalName } = this.#submission;
    return {
      ...jobOf(timeUs / 1e6, durations),
      ...(name === '' ? {} : { name }),
      ...(user === '' ? {} : { user }),
      ...(logicalName === '' ? {} : { logicalName }),
      ...present({ schedulingClass, machineShare: this.#request }),
    };
  }

  #finishedDurations(tally: Tally): Float64Array {
    const durations: number[] = [];
    for (const [, run] of [...this.#tasks].sort(([a], [b]) => a - b)) {
      if (run.durationUs === undefined) {
        tally.add(OUTCOMES[run.last] ?? COUNTS.withoutEnd);
        continue;
      }
      if (run.attempts > 1) tally.add(COUNTS.ranAgain);
      durations.push(run.durationUs / 1e6);
    }
    return Float64Array.from(durations);
  }
}

/** How long to wait for the last events of tasks after a job's end; in the trace they follow within a second. */
const STRAGGLERS_US = 60e6;

/** State of job ids that are not in flight. */
const EXCLUDED = 'left out';
const CONCLUDED = 'concluded';
type Known = JobInFlight | typeof EXCLUDED | typeof CONCLUDED;

/**
 * Joins job and task events, in order of time, into jobs. A job is concluded a minute after its end, so that memory
 * holds tasks of active jobs, and a little for each ended job.
 */
export class Join {
  readonly #jobs = new Map<number, Known>();
  /** Ended jobs, earliest end first. */
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
      this.#jobs.set(event.job, EXCLUDED);
      return;
    }
    if (job instanceof JobInFlight) {
      // This event is a second record of the same submission.
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

  /** Handles an event of a sample without job events: a job is submitted with the first event of its tasks. */
  onSampledTaskEvent(event: TaskEvent, facts: Omit<JobEvent, 'timeUs' | 'job' | 'type'>): void {
    const { timeUs, job } = event;
    if (!this.#jobs.has(job)) this.onJobEvent({ timeUs, job, type: EventType.submit, ...facts });
    this.onTaskEvent(event);
  }

  #leaveOutUnsubmitted(job: number): void {
    this.#tally.add(COUNTS.withoutSubmission);
    this.#jobs.set(job, EXCLUDED);
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

  /** Handles the end of the tables; the run times of active jobs remain unknown. */
  onEnd(): void {
    for (const job of this.#jobs.values()) {
      if (!(job instanceof JobInFlight)) continue;
      if (job.isAlive) this.#tally.add(COUNTS.cutOff);
      else this.#conclude(job);
    }
  }

  /** Returns the jobs concluded since the last call. */
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

/** The trace uses 2^63 − 1 for such times. */
function isAfterTrace(event: { readonly timeUs: number }): boolean {
  return event.timeUs > Number.MAX_SAFE_INTEGER;
}
