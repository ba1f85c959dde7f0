import { type Column, type Context, painter, renderTable } from '@goshawk/command';
import { formatCount } from '@goshawk/core';
import { FIGURES, type Figure, GROUPS } from '@goshawk/papers/figures';

/** Prints every figure, as text or as JSON. */
export function listFigures(context: Context): void {
  if (context.global.json) {
    context.json({
      schema: 'goshawk.figures/1',
      figures: FIGURES.map(entryOf),
      total: FIGURES.length,
      truncated: false,
      next: null,
    });
    return;
  }
  const columns: readonly Column<Figure>[] = [
    { title: 'figure', of: ({ id }) => id },
    { title: 'paper', expendable: 3, of: ({ paper, section }) => `${paper.name} ${section}` },
    { title: 'jobs', align: 'right', of: ({ workload }) => formatCount(workload.jobs) },
    {
      title: 'its jobs',
      align: 'right',
      expendable: 1,
      of: ({ workload: { paperJobs } }) => (paperJobs === undefined ? '' : formatCount(paperJobs)),
    },
    { title: 'runs', align: 'right', expendable: 2, of: (figure) => `${runsOf(figure)}` },
    { title: 'shows', wraps: true, shrinkTo: 40, of: ({ title }) => title },
  ];
  context.out(renderTable(columns, FIGURES, painter(context)));
  const groups = Object.entries(GROUPS).map(([name, figures]) => `${name}: ${figures.length} of these`);
  context.note(`\n${groups.join(', ')}`);
}

function entryOf(figure: Figure) {
  const { id, title, about, paper, section, mode, workload, claims } = figure;
  return {
    id,
    title,
    about,
    paper: { ...paper, section },
    mode,
    workload: { generator: workload.generator, jobs: workload.jobs, paperJobs: workload.paperJobs ?? null },
    runs: runsOf(figure),
    claims: claims.map(({ section: where, text }) => ({ section: where, text })),
  };
}

/** Number of runs with one seed; some may be equal. */
function runsOf({ axis, variants }: Figure): number {
  return axis.ticks.length * variants.length;
}
