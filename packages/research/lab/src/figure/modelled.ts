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
import type { Figure, Queue, Trial } from '@goshawk/papers/figures';
import type { OptionValues } from '@goshawk/report';
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
export async function runModelled(
  making: FigureContext,
): Promise<FigureRuns<Queue> & { readonly trials: readonly Trial[] }> {
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
        const key = [
          'modelled',
          workload,
          figure.model,
          policy,
          places,
          scale,
          trace === undefined ? seed : 0,
        ];
        const run = () =>
          trace === undefined
            ? runPolicy(figure, policy, places, scale, seed)
            : runTrace(figure, policy, places, trace);
        const made = await step(() => making.store.run(key, run));
        draws.get(policy)!.push(made);
      }
    }
    const last = draws.get(policies.at(-1)!)!.at(-1)!;
    const record = recordOf(figure, last);
    const { name: jobsOf, sha256 } = record;
    const setUp = { ...figure.model } as unknown as OptionValues;
    const trials = [...draws].flatMap(([policy, ofSeeds]) =>
      ofSeeds.flatMap(({ queues }, index) =>
        queues.map(
          (results, place): Trial => ({
            ...{ x: places[place]!, label: axis.ticks[place]!.label, variant: policy, seed: index + 1 },
            workload: { name: jobsOf, sha256 },
            options: { policy, scale, ...setUp },
            results,
          }),
        ),
      ),
    );
    const perPlace = placesOf(making.chosen, (_, { name }, place) =>
      draws.get(name)!.map(({ queues }) => queues[place]!),
    );
    return { workload: record, places: perPlace, trials };
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
