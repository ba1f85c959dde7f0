import { Random } from '@goshawk/core';
import { exponential, microseconds, poissonArrivals } from '../draws.js';
import { jobOf, type TraceJob } from '../job.js';
import { defineGenerator } from './generator.js';
import { choice, count, positive, seed } from './options.js';

/** Equal jobs at random times: the simplest queueing model, for comparison with theory. */
export const poisson = defineGenerator({
  name: 'poisson',
  description: 'jobs of equal size with Poisson arrivals at a given load',
  options: {
    jobs: count(1000, 'number of jobs'),
    tasks: count(10, 'tasks of each job'),
    mean: positive(100, 'mean task duration in seconds'),
    durations: choice(['exponential', 'constant'], 'distribution of the task durations'),
    load: positive(0.9, 'task seconds submitted per second, divided by the number of workers'),
    workers: count(100, 'single-slot workers that `load` refers to'),
    seed: seed(),
  },
  generate: function* ({ jobs, tasks, mean, durations, load, workers, seed }): Generator<TraceJob> {
    const random = Random.seeded(seed).fork('poisson');
    const nextSubmission = poissonArrivals(random.fork('arrivals'), (tasks * mean) / (load * workers));
    const draws = random.fork('durations');
    for (let i = 0; i < jobs; i++) {
      const durationsSeconds = new Float64Array(tasks);
      for (let task = 0; task < tasks; task++) {
        durationsSeconds[task] = durations === 'constant' ? mean : microseconds(exponential(draws, mean));
      }
      yield jobOf(nextSubmission(), durationsSeconds);
    }
  },
});
