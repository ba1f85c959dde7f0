import { html, renderSvg } from '@goshawk/report';
import type { FigureResult } from '../result.js';
import { describe, drawingOf } from './drawings.js';

const PANEL = { width: 560, height: 380 };
const COLUMNS_MAX = 2;

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
  const height = Math.ceil(panels.length / columns) * PANEL.height;
  const placed = panels.map((svg, index) => {
    const x = (index % columns) * PANEL.width;
    const y = Math.floor(index / columns) * PANEL.height;
    return svg.replace('<svg ', `<svg x="${x}" y="${y}" `);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
${html`<title>${result.title}</title>`}
<rect width="${width}" height="${height}" fill="#ffffff"/>
${placed.join('')}</svg>
`;
}
