import { setOptions } from '@goshawk/command/policy';
import { type Planned, plannedOf, type RunSettings } from '@goshawk/papers/figures';
import { loadSolver } from '@goshawk/papers/solver';
import { type GangPolicy, normalEstimates, runGangExperiment } from '@goshawk/papers/trials';
import { presetNamed, type SolveProgram } from '@goshawk/policies';
import { configureGenerator, type TraceJob } from '@goshawk/traces';
import { type FigureContext, runTrials, type Tried } from './figure-context.js';

const RACKS = 8;
/** Jobs of the same kind that precede the first one. */
const PAST_JOBS = 10_000;
/** A pool of this size has samples of most programs. */
const POOL_JOBS = 100_000;
/** The past is drawn with another seed. */
const PAST_SEED = 1_000;

/** Performs all runs of a planned figure: each policy at each place, once per seed, sequentially. */
export async function runPlanned(making: FigureContext) {
  const { solve } = await loadSolver();
  return runTrials(making, (workload, settings, seed) =>
    making.store.run(['planned', workload, settings, seed], () => planned(workload, settings, seed, solve)),
  );
}

function planned(workload: string, settings: RunSettings, seed: number, solve: SolveProgram): Tried<Planned> {
  const { policy, workers: nodes = 256, samples, slack = 0, load = 1.4, rate = 0, shift, spread } = settings;
  const name = policy as GangPolicy;
  const set = settings.set ?? [];
  const chosen = setOptions(name, presetNamed(name), set);
  const options = `nodes=${nodes},racks=${RACKS},slack=${slack},load=${load},rate=${rate}`;
  const [usual = '', given = ''] = workload.split(':');
  const generator = settings.generator ?? usual;
  const seeded = `${generator}:${given},${options},seed=${seed}`;
  const jobs = jobsOf(seeded);
  const count = samples === undefined ? PAST_JOBS : POOL_JOBS;
  const past = jobsOf(`${generator}:jobs=${count},${options},seed=${PAST_SEED + seed}`);
  const estimate = shift === undefined ? undefined : normalEstimates({ shift, spread: spread ?? 0, seed });
  const experiment = { policy: name, options: chosen, jobs, past, nodes, racks: RACKS, estimate };
  const run = runGangExperiment(samples === undefined ? experiment : { ...experiment, samples }, solve);
  const results = { ...plannedOf(run)!, predictionSeconds: run.predictionSeconds };
  const own = {
    policy: name,
    nodes,
    racks: RACKS,
    pastJobs: count,
    shift: shift ?? null,
    spread: spread ?? null,
  };
  return { results, workload: seeded, options: { ...own, samples: samples ?? null, ...run.options } };
}

function jobsOf(spec: string): TraceJob[] {
  return [...configureGenerator(spec).generate()];
}
