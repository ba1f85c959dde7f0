import { expect, test } from 'vitest';
import { slearnError } from './papers/slearn.js';
import { renderFigurePage } from './render/page.js';
import { renderFigureSvg } from './render/svg.js';
import { renderFigureText } from './render/text.js';
import { spreadOf } from './result.js';
import { assessTrials } from './trials.js';

const workload = { name: 'w', sha256: 'x', jobs: 4, tasks: 12, taskSeconds: 1, spanSeconds: 1 };
const { axis } = slearnError;
const asked = {
  figure: slearnError,
  axis,
  workload,
  workers: null,
  trials: [],
  command: 'goshawk',
  generator: 'g',
};

/** Errors that are better for a lower `by`. */
const draw = (by: number) => ({
  pilot: [0, 0.01 * by, 0.02 * by, 0.3 * by],
  '3sigma': [0.1, 0.2, 0.9, 4],
  history: [0.1, 0.2, 0.3, 2],
  hybrid: [0, 0.01, 0.02, 0.3],
});

/** Runs with these draws at each percentile. */
const places = (...draws: readonly ReturnType<typeof draw>[]) =>
  axis.ticks.map((tick) => ({
    tick,
    byVariant: {
      pilot: draws.map(({ pilot }) => pilot),
      '3sigma': draws.map((each) => each['3sigma']),
      history: draws.map(({ history }) => history),
      hybrid: draws.map(({ hybrid }) => hybrid),
    },
  }));

test('errors of all draws are pooled, and each draw is a seed', () => {
  const result = assessTrials('errors', { ...asked, places: places(draw(1), draw(2)) });
  expect(result.seeds).toEqual([1, 2]);
  const table = result.panels.find(({ kind }) => kind === 'table')!;
  expect(table.series[0]).toMatchObject({ name: 'pilot', paper: [0.0915, 0.4995] });
  const [p50, p90] = table.series[0]!.values;
  expect(p50).toBeCloseTo(0.02, 9);
  expect(p90).toBeCloseTo(0.6, 9);
  expect(spreadOf(table.series[0]!)).toEqual([
    [0.01, 0.02],
    [0.3, 0.6],
  ]);
});

test('is rendered and described like other figures, even with errors of 0', () => {
  const result = assessTrials('errors', { ...asked, places: places(draw(1)) });
  expect(renderFigureSvg(result)).toContain('error of the prediction');
  expect(renderFigurePage(result)).toContain('P90');
  expect(renderFigureText(result, { color: false, columns: 100 })).toContain(
    'slearn-error: 1 of 4 claims holds, 2 in direction',
  );
});
