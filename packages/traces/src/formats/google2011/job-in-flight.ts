import { present } from '@goshawk/core';
import { jobOf, type MachineShare, type TraceJob } from '../../job.js';
import type { Countable, Tally } from '../../tally.js';
import { COUNTS } from './counts.js';
import { EventType, type JobEvent, type TaskEvent } from './events.js';

/** What is known of a task so far. */
interface TaskRun {
  /** The last event that moved it from one state to another; updates of requests do not. */
  last: EventType;
  /** Of the attempt that runs, or undefined while none does. */
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

/** A job of which more events may come: tasks by index, each with its attempts so far. */
export class JobInFlight {
  readonly id: number;
  /** By the job's own events; its tasks' last ones may come a little later. */
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
    if (run === undefined) {
      run = { last: type, startedUs: undefined, durationUs: undefined, attempts: 0 };
      this.#tasks.set(event.task, run);
    }
    run.last = type;
    if (type === EventType.submit) {
      if (event.request !== undefined) this.#widen(event.request);
    } else if (type === EventType.schedule) {
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

  /** The job with the tasks of it that finished, by index; undefined where none did. */
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
