/** A chart as a picture that stands alone, and its values. Both are made on demand. */
export interface SavedChart {
  /** Unique on its page. */
  readonly id: string;
  svg(): string;
  values(): { readonly series: string; readonly x: number | string; readonly y: number | null }[];
}

/** Text that is already markup. Only `html` and `trusted` create it, so a string is never mistaken for it. */
export class Markup {
  readonly text: string;
  /** The charts in it, in order. */
  readonly charts: readonly SavedChart[];

  constructor(text: string, charts: readonly SavedChart[] = []) {
    this.text = text;
    this.charts = charts;
  }

  toString(): string {
    return this.text;
  }
}

export type Content = string | number | Markup | null | readonly Content[];

/**
 * Renders a template and escapes values for element content and quoted attributes, unless they are markup.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...values.map(render)), values.flatMap(chartsIn));
}

/** Declares a string to be markup. The source must be this package or a renderer that escapes. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

function chartsIn(content: Content): readonly SavedChart[] {
  if (content instanceof Markup) return content.charts;
  return Array.isArray(content) ? (content as readonly Content[]).flatMap(chartsIn) : [];
}

function render(content: Content): string {
  if (content === null) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(render).join('');
  return escapeText(String(content));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return visible(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** Replaces control characters, which HTML forbids even as references, and lone surrogates by U+FFFD. */
export function visible(text: string): string {
  return text.replaceAll(/\p{Cs}|[^\P{Cc}\n\t]/gu, '\uFFFD');
}
