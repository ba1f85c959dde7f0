import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { useStore } from './store.js';
import { useWidth } from './ui.js';

const HEIGHT = 190;

/** A uPlot chart, which is created again when `kind` or the color scheme changes, and otherwise gets new data. */
export function Plot({
  kind,
  data,
  options,
  label,
}: {
  readonly kind: string;
  readonly data: uPlot.AlignedData;
  readonly options: () => Omit<uPlot.Options, 'width' | 'height'>;
  readonly label: string;
}) {
  const isDark = useStore().isDark.value;
  const plot = useRef<uPlot | undefined>(undefined);
  const place = useWidth<HTMLDivElement>((width) => {
    if (width > 0) plot.current?.setSize({ width, height: HEIGHT });
  });
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = place.current!;
    const width = Math.max(120, element.clientWidth);
    plot.current = new uPlot({ ...options(), width, height: HEIGHT }, latest.current, element);
    return () => {
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [kind, isDark]);
  useEffect(() => plot.current?.setData(data), [data]);
  return <div ref={place} class="chart" role="img" aria-label={label} />;
}

/** Returns where the point nearest to the pointer is, so that the line stands at the time in the legend. Pixels. */
export function nearest(plot: uPlot, left: number): number {
  const at = left < 0 ? undefined : plot.data[0][plot.posToIdx(left)];
  return at === undefined ? left : plot.valToPos(at, 'x');
}

/** The window of the last hour, which spans at least ten minutes, so that the first points do not fill the chart. */
export function hourWindow(times: readonly number[]): [number, number] {
  const to = times.at(-1) ?? Date.now() / 1_000;
  // The newest point is not cut off by the edge.
  return [Math.min(times[0] ?? to, to - 600), to + 5];
}
