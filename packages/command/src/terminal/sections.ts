import type { Painter } from './paint.js';
import { wrapWords } from './width.js';

/** A section of a page: a label, and one or more lines. */
export type Section = readonly [label: string, lines: string | readonly string[]];

/** Returns a section, or none without lines. */
export function section(label: string, lines: string | undefined | readonly string[]): Section[] {
  return lines === undefined || lines.length === 0 ? [] : [[label, lines]];
}

/** Renders a title with sections below it, whose lines form one column. */
export function page(title: string, sections: readonly Section[], paint: Painter): string {
  const width = Math.max(...sections.map(([label]) => label.length));
  const body = sections.flatMap(([label, lines]) =>
    [lines]
      .flat()
      .flatMap((line) => wrapWords(line, paint.columns - width - 4))
      .map((line, index) => `  ${paint.dim((index === 0 ? label : '').padEnd(width))}  ${line}`),
  );
  return [title, ...body].join('\n');
}
