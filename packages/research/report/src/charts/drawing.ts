import { html, type Markup } from '../markup.js';
import type { LineLook } from './palette.js';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A value of a chart, for its CSV file. */
interface ChartPoint {
  readonly x: number | string;
  /** Null: a gap. */
  readonly y: number | null;
}

/** The values of one series. */
interface ChartSeries {
  readonly name: string;
  readonly points: readonly ChartPoint[];
}

/**
 * The symbol of a series in a legend: a segment of its line, its markers, a box in the color of its bars, or the rule that
 * marks a stated value.
 */
export type SwatchKind = 'line' | 'points' | 'box' | 'rule';

export interface LegendEntry {
  readonly name: string;
  readonly look: LineLook;
  readonly kind: SwatchKind;
}

/** A chart that can be drawn at any size, with its values and the entries of its legend. */
export interface ChartDrawing {
  readonly legend: readonly LegendEntry[];
  readonly series: readonly ChartSeries[];
  /** Returns the content of an `<svg>` of this size. Equal input gives equal text. */
  readonly draw: (size: Size) => string;
}

/** Rounds a coordinate to a tenth of a pixel. */
export function px(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Shows the text while the pointer is on the element that contains it; this needs no script. */
export function tooltip(text: string): Markup {
  return html`<title>${text}</title>`;
}
