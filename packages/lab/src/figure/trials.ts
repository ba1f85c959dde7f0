import type { RunSettings, RunsAt } from '@goshawk/figures';
import { configureGenerator, openWorkload, packed } from '@goshawk/traces';
import { survey } from '../simulate/survey.js';
import { type FigureRuns, type Making, settingsOf } from './making.js';
import { inSteps } from './steps.js';

/**
 * All runs of a figure of policies by themselves: at each place each policy, once for each seed, one after another.
 *
 * @throws InterruptedError
 */
export async function runTrials<Run>(
  making: Making,
  run: (workload: string, settings: RunSettings, seed: number) => Promise<Run>,
): Promise<FigureRuns<Run> & { readonly workers: number | null }> {
  const { context, chosen, options } = making;
  const { figure, axis, workers, workload } = chosen;
  const total = axis.ticks.length * figure.variants.length * options.seeds;
  return inSteps(making, total, ['run', 'made'], async (step) => {
    const places: RunsAt<Run>[] = [];
    for (const tick of axis.ticks) {
      const byVariant: Record<string, Run[]> = {};
      for (const variant of figure.variants) {
        const settings = settingsOf(chosen, tick, variant);
        const runs: Run[] = [];
        for (let seed = 1; seed <= options.seeds; seed++)
          runs.push(await step(() => run(workload, settings, seed)));
        byVariant[variant.name] = runs;
      }
      places.push({ tick, byVariant });
    }
    const jobs = packed(configureGenerator(workload).generate());
    const { record } = await survey(await openWorkload(workload), [jobs], context.interrupted);
    return { workload: record, places, workers: workers ?? figure.settings.workers ?? null };
  });
}
