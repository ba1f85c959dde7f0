/**
 * Colors by role, for light and dark pages. Charts are drawn before the kind of page is known: each role is
 * a CSS variable, which `toLiterals` replaces by a color for standalone pictures.
 */
interface Shade {
  readonly light: string;
  readonly dark: string;
}

/**
 * Hues of Okabe and Ito, which people with all kinds of color vision can distinguish. Neighbors differ in lightness, so that
 * they differ in gray print, too. All reach a contrast of 3 : 1, which WCAG requires of graphics.
 */
const SERIES: readonly Shade[] = [
  { light: '#045181', dark: '#1fb7f8' },
  { light: '#e86d18', dark: '#c86b29' },
  { light: '#007d57', dark: '#57e6b7' },
  { light: '#660b48', dark: '#d577ad' },
  { light: '#ac7706', dark: '#ffdf9e' },
  { light: '#654a9d', dark: '#957fcd' },
  { light: '#3d8fc4', dark: '#8ecbf0' },
  { light: '#4d4200', dark: '#aca400' },
];

const ROLES = {
  page: { light: '#ffffff', dark: '#14181d' },
  raised: { light: '#f6f7f9', dark: '#1c2127' },
  text: { light: '#1a1f26', dark: '#e7eaee' },
  muted: { light: '#566070', dark: '#a3adba' },
  rule: { light: '#dfe3e8', dark: '#323a44' },
  grid: { light: '#e9ecf0', dark: '#272e36' },
  accent: { light: '#0072b2', dark: '#56b4e9' },
  warning: { light: '#a03d00', dark: '#f5a672' },
  queueing: { light: '#e0a526', dark: '#d99a1c' },
  binding: { light: '#cc79a7', dark: '#c476a1' },
  running: { light: '#8fa3b8', dark: '#8298ae' },
  reporting: { light: '#c9d1da', dark: '#566373' },
  // The text color on the four above, which are bright on both kinds of page.
  ink: { light: '#14181d', dark: '#14181d' },
} as const satisfies Record<string, Shade>;

export type Role = keyof typeof ROLES | `series-${number}`;

export const PALETTE: Readonly<Record<string, Shade>> = {
  ...ROLES,
  ...Object.fromEntries(SERIES.map((shade, index) => [`series-${index}`, shade])),
};

const VARIABLE = /="var\(--([a-z0-9-]+)\)"/g;

/** Returns the color of a role as a CSS variable of the page. */
export function color(role: Role): string {
  return `var(--${role})`;
}

/** Replaces variables, in attribute values only, by the colors of one kind of page. */
export function toLiterals(svg: string, kind: keyof Shade): string {
  return svg.replaceAll(VARIABLE, (_, role: string) => `="${PALETTE[role]![kind]}"`);
}

/** Returns the variables of one kind of page as CSS declarations. */
export function declarations(kind: keyof Shade): string {
  return Object.entries(PALETTE)
    .map(([name, shade]) => `--${name}:${shade[kind]}`)
    .join(';');
}

export type MarkerShape = 'circle' | 'rect' | 'triangle' | 'diamond';

/** The look of a policy's line: three properties, each of which suffices to identify it. */
export interface LineLook {
  readonly color: Role;
  /** Lengths of dashes and gaps; solid when empty. */
  readonly dash: readonly number[];
  readonly marker: MarkerShape;
}

const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2], [12, 4]];
const MARKERS: readonly MarkerShape[] = ['circle', 'rect', 'triangle', 'diamond'];

/** Returns the look of the n-th policy. The three properties repeat at 8, 6 and 4, so the first 24 differ. */
export function lineLook(index: number): LineLook {
  return {
    color: `series-${index % SERIES.length}`,
    dash: DASHES[index % DASHES.length]!,
    marker: MARKERS[index % MARKERS.length]!,
  };
}
