import { optionsGiven } from '@goshawk/command';
import type { Figure, FinishedRun, RunSettings, Tick, Variant } from '@goshawk/papers/figures';
import type { Workload } from '@goshawk/report';
import { packed } from '@goshawk/traces';
import type { PolicyRun } from '../replay/contract.js';
import { REPLAY_OPTIONS, type ReplayOptions } from '../replay/options.js';
import { type Replayed, replayLocally, traceJob } from '../replay/replay.js';
import { performWithProgress, sourceOf } from '../simulate/shown.js';
import { survey } from '../simulate/survey.js';
import { type FigureContext, type FigureRuns, placesOf, settingsOf } from './figure-context.js';
import { finished, requestsFor } from './simulated.js';

const DEFAULTS: ReplayOptions = optionsGiven(REPLAY_OPTIONS);

/** Approximate run time of each policy, unless the figure or `--for` sets it. */
const FOR_MS = 30_000;

/** The live and simulated runs of one load and seed. */
interface Halves {
  readonly workload: Workload;
  /** Runs by variant. */
  readonly runs: ReadonlyMap<string, FinishedRun>;
}

/**
 * Performs all runs of a live figure. At each place, local clusters run the workload under one policy after
 * another, and the same jobs are simulated at the same times.
 *
 * @throws WorkloadError; the reason of the interruption
 */
export async function runLive(making: FigureContext): Promise<FigureRuns<FinishedRun>> {
  const { context, store, chosen, options } = making;
  const { figure, axis } = chosen;
  const byPlace: Halves[][] = [];
  for (const tick of axis.ticks) {
    const bySeed: Halves[] = [];
    for (let seed = 1; seed <= options.seeds; seed++) {
      const asked = replayOptions(making, tick, seed);
      const halves = await store.once([chosen.workload, asked], () => {
        context.note(`${figure.id}: ${axis.name} ${tick.label}${options.seeds > 1 ? `, seed ${seed}` : ''}`);
        return bothHalves(making, tick, asked);
      });
      bySeed.push(halves);
    }
    byPlace.push(bySeed);
  }
  const places = placesOf(chosen, (_, { name }, place) => byPlace[place]!.map(({ runs }) => runs.get(name)!));
  return { workload: byPlace[0]![0]!.workload, places };
}

async function bothHalves(making: FigureContext, tick: Tick, asked: ReplayOptions): Promise<Halves> {
  const { context, chosen, options } = making;
  const { figure, workload } = chosen;
  const policies = variantsOf(figure, 'live').map(entryOf).join(',');
  const replayed = await replayLocally(context, { ...asked, policy: policies }, workload);
  const { plan } = replayed;
  const runs = new Map<string, FinishedRun>();
  const liveRunOf = (variant: Variant): PolicyRun =>
    replayed.runs.find(({ run }) => run.policy === entryOf(variant))!;
  for (const variant of variantsOf(figure, 'live')) {
    const { run, series } = liveRunOf(variant);
    runs.set(variant.name, { run, series });
  }
  const { name, sha256 } = plan.workload;
  // The executed jobs form a separate workload.
  const asRun = { name, tallied: [], sha256: async () => sha256 };
  const surveyed = await survey(asRun, [packed(plan.jobs.map(traceJob))], context.interrupted);
  const variants = variantsOf(figure, 'simulated');
  const requests = variants.map((variant) => {
    const { load: _, ...settings } = { ...figure.settings, ...tick.settings, ...variant.settings };
    const same = sameAs(liveRunOf(variant), replayed);
    return requestsFor({ ...settings, ...same }, surveyed, [asked.seed, 1])[0]!;
  });
  const outcomes = await performWithProgress(context, requests, sourceOf(workload, surveyed), {
    parallel: options.parallel,
    label: `${figure.id}, simulated`,
  });
  for (const [index, outcome] of outcomes.entries()) runs.set(variants[index]!.name, finished(outcome));
  return { workload: plan.workload, runs };
}

function replayOptions({ chosen, options }: FigureContext, tick: Tick, seed: number): ReplayOptions {
  const { estimator: _, scale, ...settings } = settingsOf(chosen, tick);
  const time = options.for === undefined && scale !== undefined ? { scale } : { for: options.for ?? FOR_MS };
  return { ...DEFAULTS, ...settings, ...time, jobs: chosen.jobsDrawn, seed };
}

/** Returns the settings of the live run, including those that it derived from its jobs. */
function sameAs({ run }: PolicyRun, { shape }: Replayed): RunSettings & { readonly schedulers: number } {
  const { cutoff, shortPartition, set } = run.options;
  return {
    // The options of the policy use the times of the run.
    ...(Array.isArray(set) ? { set: set.map(String) } : {}),
    workers: shape.workers,
    schedulers: shape.schedulers,
    durations: 'task',
    cutoff: String(cutoff),
    shortPartition: shortPartition === null ? 'none' : String(shortPartition),
  };
}

function variantsOf({ variants }: Figure, mode: Variant['mode']): Variant[] {
  return variants.filter((variant) => variant.mode === mode);
}

/** Returns the policy with its estimator, in the syntax of `--policy`. */
function entryOf({ settings: { policy, estimator } }: Variant): string {
  return estimator === undefined ? policy! : `${policy}:estimator=${estimator}`;
}
