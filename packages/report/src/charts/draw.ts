import { createRequire } from 'node:module';
import type { EChartsCoreOption } from 'echarts/core';

/**
 * The library is loaded when there is something to draw: a command that only measures would wait for it. In its one
 * file it is there three times as soon as in the 600 modules that it is made of.
 */
function library(): Pick<typeof import('echarts'), 'init'> {
  loaded ??= createRequire(import.meta.url)('echarts') as typeof import('echarts');
  return loaded;
}

let loaded: typeof import('echarts') | undefined;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * Draws a chart as what stands inside an `<svg>` of the size, in the colours of the option. Without the library's hover styles and bookkeeping, and with ids that begin with `id`: the
 * library numbers them by process, so that two charts of two pages would differ.
 */
export function draw(option: EChartsCoreOption, { width, height }: Size, id: string): string {
  const instance = library().init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    instance.setOption({ animation: false, textStyle: { fontFamily: 'inherit' }, ...option });
    return inlined(instance.renderToSVGString(), id);
  } finally {
    instance.dispose();
  }
}

/** All patterns need a raw quote or bracket, which the library never leaves in text. */
function inlined(svg: string, id: string): string {
  return svg
    .replace(/^<svg[^>]*>/, '')
    .replace(/<\/svg>\s*$/, '')
    .replaceAll(/<style >[\s\S]*?<\/style>/g, '')
    .replace(/<rect [^>]*fill="none"><\/rect>/, '')
    .replaceAll(/ (?:class|pointer-events|ecmeta_[a-z_]+)="[^"]*"/g, '')
    .replaceAll(/(id="|="url\(#)zr\d+-/g, `$1${id}-`)
    .replaceAll(/\n+/g, '\n')
    .trim();
}
