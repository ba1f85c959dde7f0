/**
 * Does it matter for the errors of history how old it is? A month of jobs, of which estimators learn the first half, and
 * guess the second: once going on to learn from each job that ends, and once not.
 *
 *     node bench/dist/staleness.js [JOBS.csv.gz] [--estimators 3sigma,history,point-est] [--json]
 *
 * Errors are of a job's whole run time, from its first task to its last, in percent of it; by nearest rank.
 */
import { type ArrivingJob, makeEstimator, SLEARN_SETTINGS } from '@goshawk/predictor';
import { type PastJob, readPastJobs } from '@goshawk/traces';
import { printSpreads } from './bench-report.js';
import { readOptions } from './script.js';

const options = readOptions(
  {
    estimators: ['3sigma', 'history', 'point-est'],
  },
  true,
);

function arriving(job: PastJob): ArrivingJob {
  const { name = 'job', logicalName, user, schedulingClass, tasks, submitSeconds } = job;
  return {
    name,
    logicalName,
    user,
    schedulingClass,
    tasks,
    startable: tasks,
    submittedAt: submitSeconds * 1_000,
  };
}

/** @returns of each job of the second half that something was believed of */
function errorsOf(estimatorName: string, jobs: readonly PastJob[], goesOn: boolean): number[] {
  const half = (jobs[0]!.endSeconds + jobs.at(-1)!.endSeconds) / 2;
  const estimator = makeEstimator(estimatorName, SLEARN_SETTINGS, () => 0);
  const training = goesOn ? jobs : jobs.filter(({ endSeconds }) => endSeconds < half);
  const guessed = jobs
    .filter(({ submitSeconds, runSeconds }) => submitSeconds >= half && runSeconds > 0)
    .sort((one, other) => one.submitSeconds - other.submitSeconds);
  const errors: number[] = [];
  let next = 0;
  for (const job of guessed) {
    for (; next < training.length && training[next]!.endSeconds <= job.submitSeconds; next++)
      learn(training[next]!);
    const judgement = estimator.judge(arriving(job));
    if (judgement.kind !== 'estimate') continue;
    const seconds = judgement.estimate.meanMs / 1_000;
    errors.push((100 * Math.abs(seconds - job.runSeconds)) / job.runSeconds);
  }
  return errors;

  function learn(job: PastJob): void {
    estimator.learn({
      job: arriving(job),
      judgement: { kind: 'unknown' },
      long: false,
      completed: true,
      runtimeMs: (job.endSeconds - job.submitSeconds) * 1_000,
      runsMs: [job.runSeconds * 1_000],
    });
  }
}

const jobs = await readPastJobs(options.positionals[0] ?? '../shared/traces/google-history.csv.gz');
const found = options.estimators.flatMap((name) =>
  [true, false].map((goesOn) => {
    const values = errorsOf(name, jobs, goesOn);
    return { name: `${name}, ${goesOn ? 'goes on learning' : 'learns no more'}`, unit: '%', values };
  }),
);
printSpreads('staleness', found, options.json);
