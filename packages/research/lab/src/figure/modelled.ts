import { createHash } from 'node:crypto';
import { sumOf } from '@goshawk/core';
import {
  drawJobs,
  meanSize,
  type PackingJob,
  type PackingName,
  type PackingResult,
  runPacking,
  sizeOf,
} from '@goshawk/papers';
import type { Figure, Queue } from '@goshawk/papers/figures';
import { readTaskRuns } from '@goshawk/traces';
import { type FigureContext, type FigureRuns, inSteps, placesOf } from './figure-context.js';

interface ModelResult {
  /** Waiting tasks at each place of the axis. */
  readonly queues: readonly Queue[];
  readonly jobs: number;
  readonly slots: number;
}

/**
 * Runs the policies of a modelled figure on drawn jobs, once per seed, and returns waiting tasks. All
 * policies get the same jobs.
 * @throws InterruptedError
 */
export async function runModelled(making: FigureContext): Promise<FigureRuns<Queue>> {
  const { figure, axis, jobsDrawn, workload } = making.chosen;
  const { seeds } = making.options;
  const policies = figure.variants.map(({ name }) => name as PackingName);
  const places = axis.ticks.map(({ x }) => x);
  const scale = jobsDrawn / figure.workload.jobs;
  return inSteps(making, seeds * policies.length, ['run', 'made'], async (step) => {
    const trace = figure.model!.places === 'speed' ? await readTrace(workload) : undefined;
    const draws = new Map<string, ModelResult[]>(policies.map((policy) => [policy, []]));
    for (let seed = 1; seed <= seeds; seed++) {
      for (const policy of policies) {
        const made = await step(() =>
          trace === undefined
            ? runPolicy(figure, policy, places, scale, seed)
            : runTrace(figure, policy, places, trace),
        );
        draws.get(policy)!.push(made);
      }
    }
    const last = draws.get(policies.at(-1)!)!.at(-1)!;
    return {
      workload: recordOf(figure, last),
      places: placesOf(making.chosen, (_, { name }, place) =>
        draws.get(name)!.map(({ queues }) => queues[place]!),
      ),
    };
  });
}

function runPolicy(
  { model }: Figure,
  policy: PackingName,
  places: readonly number[],
  scale: number,
  seed: number,
): ModelResult {
  const { servers, j, sizes, slots, service, rate } = model!;
  const run = (arriving: number, windows: number) =>
    runPacking({
      policy,
      j,
      servers,
      jobs: drawJobs({
        sizes: sizes!,
        arrivals: 'poisson',
        rate: arriving,
        service: service!,
        slots: slots!,
        seed,
      }),
      until: model!.until! * scale,
      from: (model!.from ?? 0) * scale,
      windows,
    });
  if (model!.places === 'slots') {
    const { queues: sampled, peaks, arrived } = run(rate!, places.length);
    const queues = sampled.map((tasks, window) => ({ tasks, peak: peaks[window]! }));
    return { queues, jobs: arrived, slots: model!.until! * scale };
  }
  const runs = places.map((load) => run((load * servers) / slots! / meanSize(sizes!), 1));
  return {
    queues: runs.map(meanOf),
    jobs: sumOf(runs, ({ arrived }) => arrived),
    slots: places.length * model!.until! * scale,
  };
}

function meanOf({ meanQueue, peaks }: PackingResult): Queue {
  return { tasks: meanQueue, peak: Math.max(...peaks) };
}

/** Reads a trace. A task's size is the larger of its shares of CPU and memory; times are in seconds. */
async function readTrace(folder: string): Promise<readonly PackingJob[]> {
  const runs = await readTaskRuns(folder);
  return runs.map(({ submitSeconds, durationSeconds, request: { cpu, memory } }) => ({
    at: submitSeconds,
    size: sizeOf(Math.max(cpu, memory)),
    duration: durationSeconds,
  }));
}

/** Runs the same tasks at increasing speeds. */
function runTrace(
  { model }: Figure,
  policy: PackingName,
  speeds: readonly number[],
  trace: readonly PackingJob[],
): ModelResult {
  const { servers, j } = model!;
  const last = trace.at(-1)?.at ?? 0;
  const queues = speeds.map((speed) => {
    const jobs = trace.map((job) => ({ ...job, at: job.at / speed }));
    return meanOf(runPacking({ policy, j, servers, jobs: jobs.values(), until: last / speed }));
  });
  return { queues, jobs: trace.length, slots: last };
}

/** Returns the record of the drawn jobs, with one second per time slot. */
function recordOf({ id, model }: Figure, { jobs, slots }: ModelResult) {
  const text = JSON.stringify(model);
  return {
    name: `jobs of ${id}`,
    sha256: createHash('sha256').update(text).digest('hex'),
    jobs,
    tasks: jobs,
    taskSeconds: jobs * (model!.slots ?? 0),
    spanSeconds: slots,
  };
}
