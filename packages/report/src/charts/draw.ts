import { createRequire } from 'node:module';
import type { EChartsCoreOption } from 'echarts/core';

/**
 * Loads the library at the first chart, since it would delay commands that draw none. Its single-file build
 * loads three times as fast as its 600 modules.
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
 * Draws a chart as the content of an `<svg>`, in the colors of the option. The library's hover styles and
 * bookkeeping are removed, and ids begin with `id`: the library numbers them by process, so the output would
 * not be reproducible.
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

/** Removes the library's additions. All patterns need a raw quote or bracket, which text never contains. */
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
