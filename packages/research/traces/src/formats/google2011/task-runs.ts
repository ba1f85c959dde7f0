import type { MachineShare } from '../../job.js';
import { EventType, readEvents, TASK_EVENTS } from './events.js';
import { findParts } from './parts.js';

/** A task from its schedule to its finish event, as in the official tables. */
export interface TaskRun {
  /** Last submission of the task, relative to the trace's time 0. */
  readonly submitSeconds: number;
  readonly durationSeconds: number;
  readonly request: MachineShare;
}

/**
 * Reads tasks individually, each with its request and submission time; other readers combine them to jobs with one
 * request and one time. Tasks submitted before the trace started are omitted.
 *
 * @param folder that contains task_events
 * @returns in order of submission
 * @throws WorkloadError with file and line at the first invalid row
 */
export async function readTaskRuns(folder: string): Promise<TaskRun[]> {
  const waiting = new Map<
    string,
    { readonly submitUs: number; readonly request: MachineShare; startUs?: number }
  >();
  const runs: TaskRun[] = [];
  const parts = await findParts(folder);
  for await (const events of readEvents(parts.task_events, TASK_EVENTS)) {
    for (const { timeUs, job, task, type, request } of events) {
      const key = `${job} ${task}`;
      const known = waiting.get(key);
      if (type === EventType.submit) {
        waiting.set(key, { submitUs: timeUs, request: request ?? NOTHING });
      } else if (type === EventType.schedule) {
        if (known !== undefined) known.startUs = timeUs;
      } else if (type <= EventType.lost) {
        waiting.delete(key);
        if (type !== EventType.finish || known?.startUs === undefined || known.submitUs === 0) continue;
        const { submitUs, startUs } = known;
        runs.push({
          submitSeconds: submitUs / 1e6,
          durationSeconds: (timeUs - startUs) / 1e6,
          request: known.request,
        });
      }
    }
  }
  return runs.sort((one, other) => one.submitSeconds - other.submitSeconds);
}

const NOTHING: MachineShare = { cpu: 0, memory: 0, disk: 0 };
