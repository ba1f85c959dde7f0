import { createHash } from 'node:crypto';
import type { Context } from '@goshawk/cli';
import { sumOf } from '@goshawk/core';
import type { Figure, Modelled } from '@goshawk/figures';
import { drawJobs, meanSize, type PackingJob, type PackingName, runPacking, sizeOf } from '@goshawk/policies';
import { readTaskRuns } from '@goshawk/traces';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';
import { inSteps } from './steps.js';

interface Made {
  /** One a place of the axis. */
  readonly queues: readonly number[];
  readonly jobs: number;
  readonly slots: number;
}

/**
 * What the policies of a modelled figure make of drawn jobs, once for each seed. All policies have the same jobs.
 *
 * @param lost what comes of the figures when they are cut short
 * @throws InterruptedError
 */
export async function runModelled(
  context: Context,
  { figure, axis, jobsDrawn, workload }: ChosenFigure,
  { seeds }: FigureOptions,
  lost: string,
): Promise<Pick<Modelled, 'workload' | 'draws'>> {
  const policies = figure.variants.map(({ name }) => name as PackingName);
  const places = axis.ticks.map(({ x }) => x);
  const scale = jobsDrawn / figure.workload.jobs;
  const total = seeds * policies.length;
  return inSteps(context, figure.id, total, ['run', 'made'], lost, async (step) => {
    const trace = figure.model!.places === 'speed' ? await readTrace(workload) : undefined;
    const draws: Record<string, readonly number[]>[] = [];
    let sums = { jobs: 0, slots: 0 };
    for (let seed = 1; seed <= seeds; seed++) {
      const draw: Record<string, readonly number[]> = {};
      for (const policy of policies) {
        const made = await step(() =>
          trace === undefined
            ? runPolicy(figure, policy, places, scale, seed)
            : runTrace(figure, policy, places, trace),
        );
        draw[policy] = made.queues;
        sums = { jobs: made.jobs, slots: made.slots };
      }
      draws.push(draw);
    }
    return { workload: recordOf(figure, sums), draws };
  });
}

function runPolicy(
  { model }: Figure,
  policy: PackingName,
  places: readonly number[],
  scale: number,
  seed: number,
): Made {
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
    const { queues, arrived } = run(rate!, places.length);
    return { queues, jobs: arrived, slots: model!.until! * scale };
  }
  const runs = places.map((load) => run((load * servers) / slots! / meanSize(sizes!), 1));
  return {
    queues: runs.map(({ meanQueue }) => meanQueue),
    jobs: sumOf(runs, ({ arrived }) => arrived),
    slots: places.length * model!.until! * scale,
  };
}

/** A size is the larger of the shares of cpu and memory; times are in seconds. */
async function readTrace(folder: string): Promise<readonly PackingJob[]> {
  const runs = await readTaskRuns(folder);
  return runs.map(({ submitSeconds, durationSeconds, request: { cpu, memory } }) => ({
    at: submitSeconds,
    size: sizeOf(Math.max(cpu, memory)),
    duration: durationSeconds,
  }));
}

/** The same tasks, faster and faster. */
function runTrace(
  { model }: Figure,
  policy: PackingName,
  speeds: readonly number[],
  trace: readonly PackingJob[],
): Made {
  const { servers, j } = model!;
  const last = trace.at(-1)?.at ?? 0;
  const queues = speeds.map((speed) => {
    const jobs = trace.map((job) => ({ ...job, at: job.at / speed }));
    return runPacking({ policy, j, servers, jobs: jobs.values(), until: last / speed }).meanQueue;
  });
  return { queues, jobs: trace.length, slots: last };
}

/** A slot stands for a second. */
function recordOf({ id, model }: Figure, { jobs, slots }: { readonly jobs: number; readonly slots: number }) {
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
