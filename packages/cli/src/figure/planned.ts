import { setImmediate } from 'node:timers/promises';
import type { Planned, PlannedRuns, RunSettings } from '@goshawk/figures';
import type { SolveProgram } from '@goshawk/policies';
import { loadSolver } from '@goshawk/runtime';
import { configureGenerator, openWorkload, packed, type TraceJob } from '@goshawk/traces';
import type { Context } from '../context.js';
import { type GangMetrics, type GangPolicy, runGangExperiment } from '../gangs/experiment.js';
import { untilInterrupted } from '../interruption.js';
import { counted } from '../jobs/words.js';
import { survey } from '../simulate/survey.js';
import { startProgress } from '../terminal/progress.js';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';
import type { RunStore } from './run-store.js';

const RACKS = 8;
/** Jobs before the first one, of the same kind. */
const PAST_JOBS = 10_000;
/** As many as it takes to have the samples of most programs. */
const POOL_JOBS = 100_000;
/** The past is drawn with another seed. */
const PAST_SEED = 1_000;

/**
 * All runs of a planned figure: at each place each policy, once for each seed, one after another.
 *
 * @param lost what comes of the figures when they are cut short
 * @throws InterruptedError
 */
export async function runPlanned(
  context: Context,
  store: RunStore,
  { figure, axis, workers, workload }: ChosenFigure,
  { seeds }: FigureOptions,
  lost: string,
): Promise<Pick<PlannedRuns, 'workload' | 'places' | 'workers'>> {
  const total = axis.ticks.length * figure.variants.length * seeds;
  let done = 0;
  const work = async () => {
    const { solve } = await loadSolver();
    const progress = startProgress(context, figure.id, total);
    try {
      const places: PlannedRuns['places'][number][] = [];
      for (const tick of axis.ticks) {
        const byVariant: Record<string, Planned[]> = {};
        for (const { name, settings } of figure.variants) {
          byVariant[name] = [];
          for (let seed = 1; seed <= seeds; seed++) {
            await setImmediate();
            context.interrupted.throwIfAborted();
            const all = { ...figure.settings, ...tick.settings, ...settings };
            const asked = workers === undefined ? all : { ...all, workers };
            const make = async () => plannedOf(planned(workload, asked, seed, solve));
            byVariant[name].push(await store.once(['planned', workload, asked, seed], make));
            progress.update(++done);
          }
        }
        places.push({ tick, byVariant });
      }
      const nodes = workers ?? figure.settings.workers ?? null;
      return { workload: await recordOf(context, workload), places, workers: nodes };
    } finally {
      progress.stop();
    }
  };
  return untilInterrupted(context, work, () => `${done} of ${counted(total, 'run')} were made; ${lost}`);
}

function planned(workload: string, settings: RunSettings, seed: number, solve: SolveProgram): GangMetrics {
  const { policy, workers: nodes = 256, samples, slack = 0, load = 1.4 } = settings;
  const options = `nodes=${nodes},racks=${RACKS},slack=${slack},load=${load}`;
  const jobs = jobsOf(`${workload},${options},seed=${seed}`);
  const [generator] = workload.split(':');
  const count = samples === undefined ? PAST_JOBS : POOL_JOBS;
  const past = jobsOf(`${generator}:jobs=${count},${options},seed=${PAST_SEED + seed}`);
  const experiment = { policy: policy as GangPolicy, jobs, past, nodes, racks: RACKS };
  return runGangExperiment(samples === undefined ? experiment : { ...experiment, samples }, solve);
}

function jobsOf(spec: string): TraceJob[] {
  return [...configureGenerator(spec).generate()];
}

function plannedOf(metrics: GangMetrics): Planned {
  const { missed, deadlineJobs, goodputHours, bestEffortLatencySeconds, preemptions } = metrics;
  return {
    missed: missed / deadlineJobs,
    goodputHours,
    bestEffortSeconds: bestEffortLatencySeconds,
    preemptions,
  };
}

async function recordOf(context: Context, workload: string): Promise<PlannedRuns['workload']> {
  const opened = await openWorkload(workload);
  const { record } = await survey(opened, [packed(jobsOf(workload))], context.interrupted);
  return record;
}
