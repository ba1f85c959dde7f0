import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StagedJob, tasksOf } from './jobs.js';

/** The marks that tasks have written. */
export interface Marks {
  /** Attempts that began. */
  readonly begun: number;
  /** Errors, as text: a task without an end, or a stage that began before one of its predecessors had ended. */
  readonly wrong: readonly string[];
}

interface TaskMarks {
  /** Times of each attempt, in seconds since 1970. */
  readonly begins: readonly number[];
  readonly ends: readonly number[];
}

/** @param ids of the jobs, in their order */
export function readMarks(folder: string, jobs: readonly StagedJob[], ids: readonly string[]): Marks {
  const files = new Map(readdirSync(folder).map((name) => [name, readTask(join(folder, name))]));
  const wrong: string[] = [];
  let begun = 0;
  jobs.forEach((job, place) => {
    const id = ids[place]!;
    const tasks = Array.from({ length: tasksOf(job) }, (_, task) => files.get(`${id}.${task}`));
    for (const [task, marks] of tasks.entries()) {
      begun += marks?.begins.length ?? 0;
      if (marks === undefined || marks.ends.length === 0) wrong.push(`${id}: task ${task} never ended`);
    }
    let first = 0;
    const spans = job.stages.map(({ tasks: count }) => {
      const own = tasks.slice(first, first + count).filter((each) => each !== undefined);
      first += count;
      return {
        beganAt: Math.min(...own.flatMap(({ begins }) => begins)),
        // The first end counts if a task ran twice, because later stages may have begun since.
        endedAt: Math.max(...own.map(({ ends }) => Math.min(...ends))),
      };
    });
    job.stages.forEach(({ name, after }, stage) => {
      for (const before of after) {
        if (spans[stage]!.beganAt >= spans[before]!.endedAt) continue;
        wrong.push(`${id}: ${name} began before ${job.stages[before]!.name} had ended`);
      }
    });
  });
  return { begun, wrong };
}

function readTask(file: string): TaskMarks {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const times = (what: string) =>
    lines.filter((line) => line.startsWith(`${what} `)).map((line) => Number(line.split(' ')[1]));
  return { begins: times('begin'), ends: times('end') };
}
