import { Random } from '@goshawk/core';
import { poissonArrivals, urn } from '../draws.js';
import { jobOf, type TraceJob } from '../job.js';
import { defineGenerator } from './generator.js';
import { count, positive, seed } from './options.js';

const LONG_SHARE = 0.05;
const SHORT = { tasks: 100, seconds: 100 };
const LONG = { tasks: 1000, seconds: 20_000 };

/** The scenario that motivates Hawk (§2.3), on 15,000 servers. */
export const motivation = defineGenerator({
  name: 'motivation',
  description:
    'Hawk §2.3: 95% short jobs of 100 tasks of 100 s, 5% long ones of 1,000 tasks of 20,000 s; Poisson arrivals',
  options: {
    jobs: count(1000, 'number of jobs'),
    interarrival: positive(50, 'mean seconds between submissions'),
    seed: seed(),
  },
  generate: function* ({ jobs, interarrival, seed }): Generator<TraceJob> {
    const random = Random.seeded(seed).fork('motivation');
    const nextSubmission = poissonArrivals(random.fork('arrivals'), interarrival);
    const isLong = urn(random.fork('classes'), jobs, Math.round(LONG_SHARE * jobs));
    for (let i = 0; i < jobs; i++) {
      const { tasks, seconds } = isLong() ? LONG : SHORT;
      yield jobOf(nextSubmission(), new Float64Array(tasks).fill(seconds));
    }
  },
});
