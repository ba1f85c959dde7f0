import { meanOf, present } from '@goshawk/core';
import { meanOfPresent, type Run } from '@goshawk/report';
import type { Planned } from './point.js';

/** Deadline results of a run; undefined without deadlines. */
export function plannedOf({ deadlines, planning }: Pick<Run, 'deadlines' | 'planning'>): Planned | undefined {
  if (deadlines === undefined) return undefined;
  const { jobs, missed, goodputSlotSeconds, bestEffortSeconds } = deadlines;
  const cycleSeconds = planning?.cycleSeconds?.cycle;
  return {
    missed: missed / jobs,
    goodputHours: {
      deadline: goodputSlotSeconds.deadline / 3_600,
      bestEffort: goodputSlotSeconds.bestEffort / 3_600,
    },
    preemptions: planning?.counts.preemptions ?? 0,
    ...present({ bestEffortSeconds: bestEffortSeconds ?? undefined, cycleSeconds }),
  };
}

/** Mean over the seeds. */
export function meanPlanned(runs: readonly Planned[]): Planned {
  const mean = (of: (run: Planned) => number) => meanOf(runs, of);
  return {
    missed: mean(({ missed }) => missed),
    goodputHours: {
      deadline: mean(({ goodputHours }) => goodputHours.deadline),
      bestEffort: mean(({ goodputHours }) => goodputHours.bestEffort),
    },
    preemptions: mean(({ preemptions }) => preemptions),
    ...present({
      bestEffortSeconds: meanOfPresent(runs.map((run) => run.bestEffortSeconds ?? null)) ?? undefined,
    }),
    ...times('cycleSeconds', runs),
    ...times('predictionSeconds', runs),
  };
}

/** Maximum of each percentile over the seeds. */
function times(of: 'cycleSeconds' | 'predictionSeconds', runs: readonly Planned[]): Partial<Planned> {
  const known = runs.flatMap((run) => run[of] ?? []);
  if (known.length === 0) return {};
  const most = (part: 'p50' | 'p99' | 'max') => Math.max(...known.map((each) => each[part]));
  return { [of]: { p50: most('p50'), p99: most('p99'), max: most('max') } };
}
