import { type Context, optionsGiven } from '@goshawk/cli';
import type { Figure, FinishedRun, RunSettings, RunsAt, Tick, Variant } from '@goshawk/figures';
import { packed } from '@goshawk/traces';
import type { PolicyRun } from '../replay/contract.js';
import { REPLAY_OPTIONS, type ReplayOptions } from '../replay/options.js';
import { type Replayed, replayLocally, traceJob } from '../replay/replay.js';
import { performShown, sourceOf } from '../simulate/shown.js';
import { survey } from '../simulate/survey.js';
import type { ChosenFigure } from './choose.js';
import type { FigureOptions } from './options.js';
import type { RunStore } from './run-store.js';
import { type FigureRuns, finished, requestsFor } from './simulated.js';

const DEFAULTS: ReplayOptions = optionsGiven(REPLAY_OPTIONS);

/** How long a policy takes, about, unless the figure or `--for` says so. */
const FOR_MS = 30_000;

/** Both halves of one load and seed, by variant. */
type Halves = Readonly<Record<string, FinishedRun>>;

/**
 * All runs of a live figure: at each place the workload on local clusters, one policy after another, and the
 * same jobs at the same times simulated.
 *
 * @throws WorkloadError; the reason of the interruption
 */
export async function runLive(
  context: Context,
  store: RunStore,
  chosen: ChosenFigure,
  options: FigureOptions,
): Promise<FigureRuns> {
  const { figure, axis } = chosen;
  const runs: RunsAt[] = [];
  let workload: FigureRuns['workload'] | undefined;
  for (const tick of axis.ticks) {
    const bySeed: Halves[] = [];
    for (let seed = 1; seed <= options.seeds; seed++) {
      const asked = replayOptions(chosen, tick, options, seed);
      const { replayed, simulated } = await store.once([chosen.workload, asked], () => {
        context.note(`${figure.id}: ${axis.name} ${tick.label}${options.seeds > 1 ? `, seed ${seed}` : ''}`);
        return bothHalves(context, chosen, tick, options, asked);
      });
      workload ??= replayed.plan.workload;
      bySeed.push(byVariant(figure.variants, replayed, simulated));
    }
    runs.push({ tick, byVariant: gathered(figure.variants, bySeed) });
  }
  return { workload: workload!, runs };
}

interface BothHalves {
  readonly replayed: Replayed;
  /** By entry. */
  readonly simulated: ReadonlyMap<string, FinishedRun>;
}

async function bothHalves(
  context: Context,
  { figure, workload }: ChosenFigure,
  tick: Tick,
  options: FigureOptions,
  asked: ReplayOptions,
): Promise<BothHalves> {
  const policies = variantsOf(figure, 'live').map(entryOf).join(',');
  const replayed = await replayLocally(context, { ...asked, policy: policies }, workload);
  const simulated = new Map<string, FinishedRun>();
  const { plan } = replayed;
  const { name, sha256 } = plan.workload;
  // The jobs as they are run, as a workload of their own.
  const asRun = { name, tallied: [], sha256: async () => sha256 };
  const surveyed = await survey(asRun, [packed(plan.jobs.map(traceJob))], context.interrupted);
  const variants = variantsOf(figure, 'simulated');
  const requests = variants.map((variant) => {
    const live = replayed.runs.find(({ run }) => run.policy === entryOf(variant))!;
    const settings = {
      ...figure.settings,
      ...tick.settings,
      ...variant.settings,
      ...sameAs(live, replayed),
    };
    return requestsFor(settings, 1, surveyed, asked.seed)[0]!;
  });
  const outcomes = await performShown(context, requests, sourceOf(workload, surveyed), {
    parallel: options.parallel,
    label: `${figure.id}, simulated`,
  });
  for (const [index, outcome] of outcomes.entries())
    simulated.set(entryOf(variants[index]!), finished(outcome, plan.fit.spanMs / 1_000));
  return { replayed, simulated };
}

function replayOptions(
  { figure, workers, jobsDrawn }: ChosenFigure,
  tick: Tick,
  { for: forMs }: FigureOptions,
  seed: number,
): ReplayOptions {
  const size = workers === undefined ? {} : { workers };
  const { estimator: _, scale, ...settings }: RunSettings = { ...figure.settings, ...size, ...tick.settings };
  const time = forMs === undefined && scale !== undefined ? { scale } : { for: forMs ?? FOR_MS };
  return { ...DEFAULTS, ...settings, ...time, jobs: jobsDrawn, seed };
}

/** What the live run was told, which it worked out from the jobs as they are run. */
function sameAs({ run }: PolicyRun, { shape }: Replayed): RunSettings & { readonly schedulers: number } {
  const { cutoff, shortPartition, set } = run.options;
  return {
    // With the times that the run had.
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

/** As `--policy` has it, with an estimator of its own. */
function entryOf({ settings: { policy, estimator } }: Variant): string {
  return estimator === undefined ? policy! : `${policy}:estimator=${estimator}`;
}

function byVariant(
  variants: readonly Variant[],
  { plan, runs }: Replayed,
  simulated: ReadonlyMap<string, FinishedRun>,
): Halves {
  const submittedSeconds = plan.fit.spanMs / 1_000;
  const entries = variants.map((variant) => {
    const { name, mode } = variant;
    const entry = entryOf(variant);
    if (mode === 'simulated') return [name, simulated.get(entry)!] as const;
    const { run, series } = runs.find((each) => each.run.policy === entry)!;
    return [name, { run, series, submittedSeconds }] as const;
  });
  return Object.fromEntries(entries);
}

function gathered(variants: readonly Variant[], bySeed: readonly Halves[]): RunsAt['byVariant'] {
  return Object.fromEntries(variants.map(({ name }) => [name, bySeed.map((halves) => halves[name]!)]));
}
