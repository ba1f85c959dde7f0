import { type Markup, trusted } from '../markup.js';
import { px, type SwatchKind } from './drawing.js';
import { color, type LineLook, type MarkerShape } from './palette.js';

/** Markers around the origin. */
const SHAPES: Readonly<Record<MarkerShape, string>> = {
  circle: '<circle r="3.5"/>',
  rect: '<rect x="-3.5" y="-3.5" width="7" height="7"/>',
  triangle: '<path d="M0 -4l4 7.5h-8z"/>',
  diamond: '<path d="M0 -4.5l4.5 4.5-4.5 4.5-4.5-4.5z"/>',
};

export const SWATCH_HEIGHT = 12;

export function swatchWidth(kind: SwatchKind): number {
  return kind === 'line' ? 34 : 14;
}

/** Returns attributes of a bar. One in the color of text is an outline, so that it differs from dark bars in gray print. */
export function fillOf({ color: role }: LineLook): string {
  return role === 'text'
    ? `fill="${color('page')}" stroke="${color('text')}" stroke-width="1.5"`
    : `fill="${color(role)}"`;
}

/** Returns the content of an `<svg>` with that width and height. */
export function swatchBody(look: LineLook, kind: SwatchKind): string {
  if (kind === 'box') return `<rect y="-1" width="14" height="14" rx="3" ${fillOf(look)}/>`;
  if (kind === 'rule') {
    return `<path d="M0 6h14" stroke="${color(look.color)}" stroke-width="2" stroke-dasharray="3 2" fill="none"/>`;
  }
  if (kind === 'points') return markerAt(look, 7, 6).text;
  const dash = look.dash.length === 0 ? '' : ` stroke-dasharray="${look.dash.join(' ')}"`;
  return `<path d="M1 6h32" stroke="${color(look.color)}" stroke-width="2"${dash} fill="none"/>${markerAt(look, 17, 6).text}`;
}

/** Draws the marker of a line at a place in pixels. */
export function markerAt({ color: role, marker }: LineLook, x: number, y: number, scale = 1): Markup {
  const size = scale === 1 ? '' : ` scale(${scale})`;
  return trusted(
    `<g fill="${color(role)}" transform="translate(${px(x)} ${px(y)})${size}">${SHAPES[marker]}</g>`,
  );
}
