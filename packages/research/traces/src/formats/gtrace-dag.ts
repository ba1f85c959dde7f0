import { concatenated, present, Random } from '@goshawk/core';
import { integer } from '../draws.js';
import { type PastJob, readPastJobs } from '../features.js';
import { GoogleLikeTasks } from '../generators/google-like.js';
import { jobOf, type TraceJob } from '../job.js';
import { inBatches, type PackedJobs } from '../packed-jobs.js';
import type { Tally } from '../tally.js';
import type { TraceFormat } from './trace-format.js';

/** Stages of one job (SLearn §6). */
const STAGES_MIN = 2;
const STAGES_MAX = 5;
/**
 * Tasks of one stage: enough for pilots, and few enough for SLearn's cluster (§5.1). The file does not contain them.
 */
const TASKS_MIN = 3;
const TASKS_MAX = 150;
const COLUMNS = ['submit_s', 'start_s', 'end_s', 'user', 'job_name'];

/**
 * Jobs with stages made of earlier jobs (GTrace-DAG, SLearn §6): two to five consecutive ones of the same user and
 * name. A stage runs as long as the original job; its tasks are drawn like those of large jobs of the generator
 * `google-like`.
 */
export const gtraceDag = {
  name: 'gtrace-dag',
  sample: 'past-jobs.csv',
  aJob: 'jobs with the same user and name are the stages of one job; at least two are needed',
  endings: ['.csv'],
  recognises: (firstLine) => {
    const names = firstLine.trim().split(',');
    return COLUMNS.every((column) => names.includes(column));
  },
  read: readDags,
} as const satisfies TraceFormat;

/** @throws WorkloadError with file and line at the first invalid row */
async function* readDags(file: string, _tally?: Tally, signal?: AbortSignal): AsyncGenerator<PackedJobs> {
  yield* inBatches(dagsOf(await readPastJobs(file, signal)));
}

/** @returns in order of submission */
function dagsOf(past: readonly PastJob[]): TraceJob[] {
  const random = Random.seeded('gtrace-dag');
  const tasks = new GoogleLikeTasks(random.fork('tasks'));
  const groups = new Map<string, PastJob[]>();
  for (const job of [...past].sort((a, b) => a.submitSeconds - b.submitSeconds)) {
    // A job of 0 s cannot have relative errors.
    if (job.user === undefined || job.name === undefined || job.runSeconds === 0) continue;
    const key = JSON.stringify([job.user, job.name]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [job]);
    else group.push(job);
  }
  const jobs: TraceJob[] = [];
  for (const group of groups.values()) {
    while (group.length >= STAGES_MIN) {
      const stages = STAGES_MIN + integer(random, STAGES_MAX - STAGES_MIN + 1);
      jobs.push(dagOf(group.splice(0, stages), tasks));
    }
  }
  jobs.sort((a, b) => a.submitSeconds - b.submitSeconds);
  return jobs.map((job) => ({ ...job, submitSeconds: job.submitSeconds - jobs[0]!.submitSeconds }));
}

function dagOf(of: readonly PastJob[], tasks: GoogleLikeTasks): TraceJob {
  const { name, user, logicalName, submitSeconds } = of[0]!;
  const runs = of.map(({ runSeconds }) => tasks.draw(runSeconds, TASKS_MIN, TASKS_MAX));
  return {
    ...jobOf(submitSeconds, concatenated(runs)),
    stages: runs.map(({ length }, place) => ({
      name: `s${place}`,
      after: place === 0 ? [] : [place - 1],
      tasks: length,
    })),
    ...present({ name, user, logicalName }),
  };
}
