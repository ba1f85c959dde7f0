import { counted } from '@goshawk/core';
import { renderSheet, renderSvg } from '@goshawk/report';
import type { FigureResult } from '../result.js';
import { describe, drawingOf } from './drawings.js';

/** Two panels are 7 inches wide, one 3.5, at 96 pixels per inch: letters have 9 points in the text of a paper. */
const PANEL = { width: 336, height: 270 };

/** Room for a figure: the width of a page, with two panels beside each other, or of one of two columns of text. */
export type FigureWidth = 'page' | 'column';

/** Renders all charts of a figure as one self-contained SVG file. */
export function renderFigureSvg(result: FigureResult, width: FigureWidth = 'page'): string {
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
  return renderSheet(result.title, panels, captionOf(result), width === 'page' ? 2 : 1);
}

/** Names the paper's figure and its size, and ours. */
function captionOf({ id, paper, workload, workers, seeds }: FigureResult): string {
  const theirs = paper.jobs === null ? '' : `, ${counted(paper.jobs, 'job')}`;
  const size = workers === null ? '' : ` on ${counted(workers, 'worker')}`;
  const spread = seeds.length === 1 ? 'one seed' : `${seeds.length} seeds, least and greatest as whiskers`;
  const source = paper.section === '' ? '' : `${paper.name} ${paper.section}${theirs}. Here (${id}): `;
  return `${source}${workload.name}, ${counted(workload.jobs, 'job')}${size}, ${spread}.`;
}
