import { counted, wrapWords } from '@goshawk/core';
import { FONTS, html, renderSvg } from '@goshawk/report';
import type { FigureResult } from '../result.js';
import { describe, drawingOf } from './drawings.js';

const PANEL = { width: 560, height: 380 };
const COLUMNS_MAX = 2;
const MARGIN = 16;
const LINE_HEIGHT = 17;
const LETTER_WIDTH = 6.6;

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
  const columns = Math.min(COLUMNS_MAX, panels.length);
  const width = columns * PANEL.width;
  const below = Math.ceil(panels.length / columns) * PANEL.height;
  const lines = wrapWords(captionOf(result), Math.floor((width - 2 * MARGIN) / LETTER_WIDTH));
  const height = below + lines.length * LINE_HEIGHT + MARGIN;
  const caption = lines.map(
    (text, line) => html`<text x="${MARGIN}" y="${below + (line + 0.8) * LINE_HEIGHT}">${text}</text>
`,
  );
  const placed = panels.map((svg, index) => {
    const x = (index % columns) * PANEL.width;
    const y = Math.floor(index / columns) * PANEL.height;
    return svg.replace('<svg ', `<svg x="${x}" y="${y}" `);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
${html`<title>${result.title}</title>`}
<rect width="${width}" height="${height}" fill="#ffffff"/>
${placed.join('')}${html`<g font-family="${FONTS}" font-size="12" fill="#566070">
${caption}</g>`}
</svg>
`;
}

/** Names the paper's figure and its size, and ours. */
function captionOf({ id, paper, workload, workers, seeds }: FigureResult): string {
  const theirs = paper.jobs === null ? '' : `, ${counted(paper.jobs, 'job')}`;
  const size = workers === null ? '' : ` on ${counted(workers, 'worker')}`;
  const spread = seeds.length === 1 ? 'one seed' : `${seeds.length} seeds, least and greatest as whiskers`;
  const source = paper.section === '' ? '' : `${paper.name} ${paper.section}${theirs}. Here (${id}): `;
  return `${source}${workload.name}, ${counted(workload.jobs, 'job')}${size}, ${spread}.`;
}
