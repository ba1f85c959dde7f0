import type { Context } from '@goshawk/cli';
import type { RunSettings, TrialRuns } from '@goshawk/figures';
import { configureGenerator, openWorkload, packed } from '@goshawk/traces';
import { survey } from '../simulate/survey.js';
import type { ChosenFigure } from './choose.js';
import { inSteps } from './steps.js';

/** What was run, without what is known of the figure before. */
export type TrialsOf<Run> = Pick<TrialRuns<Run>, 'workload' | 'places' | 'workers'>;

/**
 * All runs of a figure of policies by themselves: at each place each policy, once for each seed, one after another.
 *
 * @param lost what comes of the figures when they are cut short
 * @throws InterruptedError
 */
export async function runTrials<Run>(
  context: Context,
  { figure, axis, workers, workload }: ChosenFigure,
  seeds: number,
  lost: string,
  run: (workload: string, asked: RunSettings, seed: number) => Promise<Run>,
): Promise<TrialsOf<Run>> {
  const total = axis.ticks.length * figure.variants.length * seeds;
  return inSteps(context, figure.id, total, ['run', 'made'], lost, async (step) => {
    const places: TrialsOf<Run>['places'][number][] = [];
    for (const tick of axis.ticks) {
      const byVariant: Record<string, Run[]> = {};
      for (const { name, settings } of figure.variants) {
        const all = { ...figure.settings, ...tick.settings, ...settings };
        const asked = workers === undefined ? all : { ...all, workers };
        byVariant[name] = [];
        for (let seed = 1; seed <= seeds; seed++)
          byVariant[name].push(await step(() => run(workload, asked, seed)));
      }
      places.push({ tick, byVariant });
    }
    const machines = workers ?? figure.settings.workers ?? null;
    return { workload: await recordOf(context, workload), places, workers: machines };
  });
}

async function recordOf(context: Context, workload: string): Promise<TrialsOf<unknown>['workload']> {
  const opened = await openWorkload(workload);
  const jobs = packed(configureGenerator(workload).generate());
  const { record } = await survey(opened, [jobs], context.interrupted);
  return record;
}
