type Paint = (text: string) => string;

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Style = keyof typeof STYLES;

export type Painter = Readonly<Record<Style, Paint>> & {
  /** Width of the terminal; Infinity: not a terminal. */
  readonly columns: number;
};

/**
 * Creates functions that style a text, or return it unchanged without colors.
 *
 * @param columns width of the terminal; default: not a terminal
 */
export function painter({
  color,
  columns = Number.POSITIVE_INFINITY,
}: {
  readonly color: boolean;
  readonly columns?: number;
}): Painter {
  const paints = Object.entries(STYLES).map(([name, [open, close]]) => {
    const paint: Paint = (text) => (color ? `\u001b[${open}m${text}\u001b[${close}m` : text);
    return [name, paint];
  });
  return { ...Object.fromEntries(paints), columns } as Painter;
}
