import { expect, test } from 'vitest';
import { assess } from './assess.js';
import { THREE_SIGMA_FIGURES } from './papers/three-sigma.js';
import type { Planned } from './point.js';
import { renderFigureText } from './render/text.js';
import { finishedRun } from './runs.fixture.js';
import { assessTrials } from './trials.js';

const run = (missed: number): Planned => ({
  missed,
  goodputHours: { deadline: 100, bestEffort: 20 },
  bestEffortSeconds: 300,
  preemptions: 3,
});

test('a planned figure is judged by the means over its seeds', () => {
  const figure = THREE_SIGMA_FIGURES.find(({ id }) => id === '3sigma-6');
  const [tick] = figure!.axis.ticks;
  const result = assessTrials('planned', {
    figure: figure!,
    axis: figure!.axis,
    workload: { name: 'e2e', sha256: '', jobs: 600, tasks: 1, taskSeconds: 1, spanSeconds: 1 },
    places: [
      {
        tick: tick!,
        byVariant: {
          '3sigma-sched': [run(0.04), run(0.06)],
          'point-perf': [run(0.03), run(0.05)],
          'point-real': [run(0.16), run(0.24)],
          prio: [run(0.05), run(0.075)],
        },
      },
    ],
    workers: 256,
    trials: [],
    command: '',
    generator: '',
  });
  expect(result.seeds).toEqual([1, 2]);
  expect(result.panels[0]!.series[0]).toMatchObject({ values: [0.05], bySeed: [[0.04], [0.06]] });
  // Further claims compare goodput and best-effort jobs, which are equal here.
  expect(result.claims.slice(0, 5).map(({ verdict }) => verdict)).toEqual([
    'holds',
    'in direction',
    'in direction',
    'not confirmed',
    'not confirmed',
  ]);
  expect(renderFigureText(result, { color: false, columns: 100 })).toContain('4.0 times');
});

test('without missed deadlines, or completed best-effort jobs, those are omitted', () => {
  const figure = THREE_SIGMA_FIGURES.find(({ id }) => id === '3sigma-6')!;
  const { bestEffortSeconds: _, ...none } = run(0);
  const byVariant = Object.fromEntries(figure.variants.map(({ name }) => [name, [none, run(0)]]));
  const result = assessTrials('planned', {
    figure,
    axis: figure.axis,
    workload: { name: 'e2e', sha256: '', jobs: 600, tasks: 1, taskSeconds: 1, spanSeconds: 1 },
    places: [{ tick: figure.axis.ticks[0]!, byVariant }],
    workers: 256,
    trials: [],
    command: '',
    generator: '',
  });
  expect(result.claims[0]).toMatchObject({ verdict: 'not judged', ours: 'neither has any' });
  expect(result.panels.at(-1)!.series[0]).toMatchObject({ values: [300], bySeed: [[null], [300]] });
});

test('a live figure with deadlines is judged by the difference of its two halves', () => {
  const table = THREE_SIGMA_FIGURES.find(({ id }) => id === '3sigma-table-2')!;
  const figure = { ...table, workload: { ...table.workload, jobs: 2 } };
  const made = finishedRun({ short: [1, 2] });
  const met = (missed: number, hours: number) => ({
    ...made,
    run: {
      ...made.run,
      deadlines: {
        jobs: 100,
        missed,
        goodputSlotSeconds: { deadline: 1_800 * hours, bestEffort: 1_800 * hours },
        bestEffortJobs: 100,
        bestEffortCompleted: 100,
        bestEffortSeconds: 50,
      },
    },
  });
  const judged = (missed: number, hours: number) =>
    assess({
      figure,
      axis: figure.axis,
      workload: { name: 'e2e', sha256: '', jobs: 200, tasks: 1, taskSeconds: 1, spanSeconds: 1 },
      places: [
        {
          tick: figure.axis.ticks[0]!,
          byVariant: Object.fromEntries(
            figure.variants.map(({ name, mode }) => [
              name,
              [mode === 'live' ? met(missed, hours) : met(10, 4)],
            ]),
          ),
        },
      ],
      command: '',
      generator: '',
    }).claims.map(({ verdict }) => verdict);
  expect(judged(12, 4.1).slice(0, 3)).toEqual(['holds', 'holds', 'holds']);
  expect(judged(15, 3.7).slice(0, 3)).toEqual(['in direction', 'in direction', 'holds']);
  expect(judged(17, 6).slice(0, 2)).toEqual(['does not hold', 'does not hold']);
});
