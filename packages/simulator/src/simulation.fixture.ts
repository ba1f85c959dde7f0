import {
  DEFAULT_POLICY,
  type JobInput,
  type PolicySettings,
  parseJobSpec,
  type Random,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import type { SimulatedEnd, SimulatedJob, Simulation } from './simulation.js';

/** Returns a function that draws integers from `least` to `most`. */
export function integersOf(random: Random): (least: number, most: number) => number {
  return (least, most) => least + Math.floor(random.next() * (most - least + 1));
}

/** Draws jobs that arrive at equal distances. */
export function drawnJobs(count: number, everyMs: number, draw: () => JobInput): SimulatedJob[] {
  return Array.from({ length: count }, (_, index) => ({
    submitMs: index * everyMs,
    spec: parseJobSpec(draw()),
  }));
}

/** Settings of a policy, shipped or added, on a network without losses. */
export function settingsOf(policy: string, more: Partial<PolicySettings> = {}) {
  return {
    policy: {
      ...DEFAULT_POLICY,
      policy: policy as PolicySettings['policy'],
      preset: presetNamed(policy),
      ...more,
    },
    timings: RELIABLE_TIMINGS,
  };
}

/** Runs a simulation until all of its jobs have ended. */
export async function endsOf<J extends SimulatedJob>(
  simulation: Simulation<J>,
  jobs: Iterable<J> | AsyncIterable<J>,
): Promise<SimulatedEnd<J>[]> {
  const ends: SimulatedEnd<J>[] = [];
  for await (const batch of simulation.run(jobs)) ends.push(...batch);
  return ends;
}
