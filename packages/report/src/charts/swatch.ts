import { color, type LineLook, type MarkerShape } from './palette.js';

const SHAPES: Readonly<Record<MarkerShape, string>> = {
  circle: '<circle cx="17" cy="6" r="3.5"/>',
  rect: '<rect x="13.5" y="2.5" width="7" height="7"/>',
  triangle: '<path d="M17 2l4 7.5h-8z"/>',
  diamond: '<path d="M17 1.5l4.5 4.5-4.5 4.5-4.5-4.5z"/>',
};

/**
 * The symbol of a series in a legend: a segment of its line, its markers, or a box in the color of its bars.
 */
export type SwatchKind = 'line' | 'points' | 'box';

export const SWATCH_HEIGHT = 12;

export function swatchWidth(kind: SwatchKind): number {
  return kind === 'line' ? 34 : 14;
}

/** Returns the content of an `<svg>` with that width and height. */
export function swatchBody(look: LineLook, kind: SwatchKind): string {
  if (kind === 'box') return `<rect y="-1" width="14" height="14" rx="3" fill="${color(look.color)}"/>`;
  const marker = `<g fill="${color(look.color)}">${SHAPES[look.marker]}</g>`;
  if (kind === 'points') return `<g transform="translate(-10)">${marker}</g>`;
  const dash = look.dash.length === 0 ? '' : ` stroke-dasharray="${look.dash.join(' ')}"`;
  return `<path d="M1 6h32" stroke="${color(look.color)}" stroke-width="2"${dash} fill="none"/>${marker}`;
}
