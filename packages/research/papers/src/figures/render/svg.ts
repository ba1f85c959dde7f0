import { counted } from '@goshawk/core';
import { renderSheet, renderSvg } from '@goshawk/report';
import type { FigureResult } from '../result.js';
import { describe, drawingOf } from './drawings.js';

const PANEL = { width: 560, height: 380 };

/** Renders all charts of a figure as one self-contained SVG file, in two columns. */
export function renderFigureSvg(result: FigureResult): string {
  const panels = result.panels.flatMap((panel, index) => {
    const drawing = drawingOf(result, panel);
    if (drawing === undefined) return [];
    const chart = {
      ...drawing,
      title: panel.title,
      description: describe(result, panel),
      id: `p${index + 1}`,
    };
    return [renderSvg(chart, PANEL)];
  });
  return renderSheet(result.title, panels, captionOf(result));
}

/** Names the paper's figure and its size, and ours. */
function captionOf({ id, paper, workload, workers, seeds }: FigureResult): string {
  const theirs = paper.jobs === null ? '' : `, ${counted(paper.jobs, 'job')}`;
  const size = workers === null ? '' : ` on ${counted(workers, 'worker')}`;
  const spread = seeds.length === 1 ? 'one seed' : `${seeds.length} seeds, least and greatest as whiskers`;
  const source = paper.section === '' ? '' : `${paper.name} ${paper.section}${theirs}. Here (${id}): `;
  return `${source}${workload.name}, ${counted(workload.jobs, 'job')}${size}, ${spread}.`;
}
