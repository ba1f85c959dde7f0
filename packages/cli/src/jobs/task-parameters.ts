import type { JobHandle } from '@goshawk/client';
import {
  countTasks,
  formatDuration,
  InputError,
  type JobSpec,
  type Payload,
  type StageSpec,
  shellWord,
} from '@goshawk/core';

type Scalar = string | number | boolean | null;
export type Parameters = Readonly<Record<string, Scalar>>;

/**
 * Returns the values that distinguish a task from the others of its job: its `params`; the fields or value of
 * a module's input; and the value of `--array` or the line of `--each-line`.
 */
export function parametersOf(payload: Payload): Parameters {
  if ('sleep' in payload) return {};
  const found: Record<string, Scalar> = { ...payload.params };
  if ('module' in payload) {
    const { input } = payload;
    if (isScalar(input)) found.input ??= input;
    else if (isPlain(input))
      for (const [name, value] of Object.entries(input)) if (isScalar(value)) found[name] ??= value;
    return found;
  }
  const { GOSHAWK_ARRAY_VALUE: array, GOSHAWK_LINE: line } = payload.env ?? {};
  if (array !== undefined) found.array ??= array;
  // The columns of a header contain the line.
  if (line !== undefined && payload.params === undefined) found.line = line;
  return found;
}

/** Returns the command of a task as a shell would run it. */
export function commandOf(payload: Payload): string {
  if ('sleep' in payload) return `sleep ${formatDuration(payload.sleep)}`;
  if ('module' in payload)
    return payload.export === undefined ? payload.module : `${payload.module}#${payload.export}`;
  const [command = '', ...others] = payload.exec;
  return [payload.shell ? command : shellWord(command), ...others.map(shellWord)].join(' ');
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

/** The payloads of a job by task index. */
export class Payloads {
  readonly #stages: readonly StageSpec[];

  constructor({ stages }: Pick<JobSpec, 'stages'>) {
    this.#stages = stages;
  }

  /** @param task index in the job. @returns undefined for a task that was appended later */
  of(task: number): Payload | undefined {
    let first = 0;
    for (const { tasks } of this.#stages) {
      const count = countTasks(tasks);
      if (task < first + count) {
        if ('count' in tasks) return tasks.run;
        return 'each' in tasks ? tasks.each[task - first] : { sleep: tasks.sleepsMs[task - first]! };
      }
      first += count;
    }
    return undefined;
  }

  /** Returns different payloads: one for tasks that share it. */
  *distinct(): Generator<Payload> {
    for (const { tasks } of this.#stages) {
      if ('count' in tasks) yield tasks.run;
      else if ('each' in tasks) yield* tasks.each;
    }
  }
}

/**
 * Reads the payloads of a job.
 *
 * @returns undefined if they do not fit into one answer
 */
export async function payloadsOf(
  job: Pick<JobHandle, 'describe'>,
  signal: AbortSignal,
): Promise<Payloads | undefined> {
  try {
    const { spec } = await job.describe({ spec: true, signal });
    return spec === undefined ? undefined : new Payloads(spec as JobSpec);
  } catch (error) {
    if (error instanceof InputError && error.code === 'spec-too-long') return undefined;
    throw error;
  }
}
