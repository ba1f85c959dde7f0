import { join } from 'node:path';
import { type JobInput, type Millis, Random, sumOf } from '@goshawk/core';

/** The capacity of each worker: cores, memory, and one custom resource. */
export const WORKER_RESOURCES = { cpu: 4, memory: 8 * 1024 ** 3, license: 2 } as const;
export const WORKER_SLOTS = 4;

export interface StagedJob {
  /** Time since the first submission. */
  readonly submitMs: Millis;
  readonly name: string;
  readonly stages: readonly LiveStage[];
}

interface LiveStage {
  readonly name: string;
  /** Indexes of the stages that it depends on. */
  readonly after: readonly number[];
  readonly tasks: number;
  readonly seconds: number;
  readonly demand: Readonly<Record<string, number>>;
}

/** Generates jobs of three to six stages, each of which depends on up to two earlier stages. */
export function stagedJobs(seed: number, count: number, everyMs: Millis): StagedJob[] {
  const random = Random.seeded(seed).fork('staged');
  const integer = (least: number, most: number) => least + Math.floor(random.next() * (most - least + 1));
  let submitMs = 0;
  return Array.from({ length: count }, (_, job) => {
    const stages = Array.from({ length: integer(3, 6) }, (__, place): LiveStage => {
      const before = Array.from({ length: place }, (___, other) => other);
      const isFirst = place === 0 || random.next() < 0.25;
      return {
        name: `s${place}`,
        after: isFirst ? [] : before.slice(-integer(1, 2)),
        tasks: integer(2, 16),
        seconds: integer(16, 60) / 10,
        demand: {
          cpu: integer(1, 2),
          memory: integer(1, 3) * 1024 ** 3,
          ...(random.next() < 0.3 ? { license: 1 } : {}),
        },
      };
    });
    const at = submitMs;
    submitMs -= Math.log(1 - random.next()) * everyMs;
    return { submitMs: Math.round(at), name: `job ${job}`, stages };
  });
}

/** Commands that record when they began and ended, in a file for each task. */
export function liveInput({ name, stages }: StagedJob, marks: string): JobInput {
  const file = join(marks, '$GOSHAWK_JOB.$GOSHAWK_TASK');
  return {
    name,
    retries: 3,
    stages: stages.map(({ name: of, after, tasks, seconds, demand }) => ({
      name: of,
      after: after.map((place) => stages[place]!.name),
      tasks: {
        count: tasks,
        run: {
          exec: [
            'bash',
            '-c',
            `echo "begin $EPOCHREALTIME" >> ${file}; sleep ${seconds}; echo "end $EPOCHREALTIME" >> ${file}`,
          ],
        },
      },
      demand,
      estimate: seconds * 1_000,
    })),
  };
}

export function tasksOf({ stages }: StagedJob): number {
  return sumOf(stages, ({ tasks }) => tasks);
}
