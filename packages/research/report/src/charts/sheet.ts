import { wrapWords } from '@goshawk/core';
import { html } from '../markup.js';
import { FONTS } from './svg.js';

const MARGIN = 16;
const LINE_HEIGHT = 17;
const LETTER_WIDTH = 6.6;

/**
 * Arranges charts in columns over a caption, as one self-contained SVG file.
 *
 * @param charts output of `renderSvg`
 */
export function renderSheet(
  title: string,
  charts: readonly string[],
  caption: string,
  columnsMax = 2,
): string {
  const sizes = charts.map((svg) => /width="(\d+)" height="(\d+)"/.exec(svg)!.slice(1).map(Number));
  const columns = Math.min(columnsMax, charts.length);
  const column = Math.max(...sizes.map(([width]) => width!));
  const width = columns * column;
  let below = 0;
  const placed: string[] = [];
  for (let first = 0; first < charts.length; first += columns) {
    const row = charts.slice(first, first + columns);
    for (const [index, svg] of row.entries())
      placed.push(svg.replace('<svg ', `<svg x="${index * column}" y="${below}" `));
    below += Math.max(...row.map((_, index) => sizes[first + index]![1]!));
  }
  // The settings of a generator are one word, which may be longer than a line.
  const lines = wrapWords(
    caption.replaceAll(/,(?=[a-z])/g, ', '),
    Math.floor((width - 2 * MARGIN) / LETTER_WIDTH),
  );
  const height = below + lines.length * LINE_HEIGHT + MARGIN;
  const written = lines.map(
    (text, line) => html`<text x="${MARGIN}" y="${below + (line + 0.8) * LINE_HEIGHT}">${text}</text>
`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
${html`<title>${title}</title>`}
<rect width="${width}" height="${height}" fill="#ffffff"/>
${placed.join('')}${html`<g font-family="${FONTS}" font-size="12" fill="#566070">
${written}</g>`}
</svg>
`;
}
