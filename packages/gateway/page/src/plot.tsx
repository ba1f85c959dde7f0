import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { withGaps } from './gaps.js';
import type { Point } from './shapes.js';
import { useStore } from './store.js';
import { windowOf } from './stream.js';
import { colour, useWidth } from './ui.js';
import { useAnswer } from './use-answer.js';

const HEIGHT = 190;
const HOUR = 3_600;
const DAY = 86_400;
/** Central adds a point every two minutes. */
const DAY_REFRESH_MS = 60_000;

/** What the charts show: points, the range of their axis, and the marked range, which the task stream shows. Seconds. */
export interface ChartTime {
  readonly points: readonly Point[];
  /** undefined: up to the newest point. */
  readonly range: readonly [number, number] | undefined;
  readonly mark: readonly [number, number] | undefined;
  readonly words: string;
}

/** Returns what the charts show at this address: the last hour or day, or the time of the task stream if it is in the past. */
export function useChartTime(): ChartTime {
  const store = useStore();
  const { query } = store.address.value;
  const { seconds, until } = windowOf(query);
  const isDay = query.get('span') === 'day' || seconds > HOUR;
  const length = isDay ? DAY : HOUR;
  const now = store.updatedAt.value / 1_000;
  const end = until === undefined ? now : Math.min(now, until / 1_000 + length / 2);
  const isOld = isDay || end - length < now - HOUR - 60;
  const day = useAnswer<{ readonly points: Point[] }>(
    isOld ? `/v1/history?seconds=${DAY}` : undefined,
    0,
    DAY_REFRESH_MS,
  );
  const recent = store.points.value;
  const oldest = recent[0]?.at ?? Number.POSITIVE_INFINITY;
  // Recent points are finer than those of the day, and newer than the last answer.
  const points = isOld ? [...(day.data?.points ?? []).filter(({ at }) => at < oldest), ...recent] : recent;
  const isLiveHour = !isDay && until === undefined;
  return {
    points,
    range: isLiveHour ? undefined : [end - length, end + (isDay ? 60 : 5)],
    mark: until === undefined ? undefined : [until / 1_000 - seconds, until / 1_000],
    words: isDay ? 'a day' : 'an hour',
  };
}

/** A uPlot chart, which is created again when `kind` or the color scheme changes, and otherwise gets new data. */
export function Plot({
  kind,
  data,
  time: { range, mark },
  options,
  label,
}: {
  readonly kind: string;
  readonly data: uPlot.AlignedData;
  readonly time: Pick<ChartTime, 'range' | 'mark'>;
  readonly options: () => Omit<uPlot.Options, 'width' | 'height'>;
  readonly label: string;
}) {
  const isDark = useStore().isDark.value;
  const plot = useRef<uPlot | undefined>(undefined);
  const place = useWidth<HTMLDivElement>((width) => {
    if (width > 0) plot.current?.setSize({ width, height: HEIGHT });
  });
  const latest = useRef({ data, range, mark });
  latest.current = { data: withGaps(data), range, mark };
  // Before the first picture is painted, so that nothing below moves.
  useLayoutEffect(() => {
    const element = place.current!;
    const width = Math.max(120, element.clientWidth);
    const given = options();
    const xRange = (shown: uPlot): [number, number] => {
      const [from, to] = latest.current.range ?? hourWindow(shown.data[0] as number[]);
      return [from, to];
    };
    plot.current = new uPlot(
      {
        ...given,
        scales: { ...given.scales, x: { time: true, range: xRange } },
        hooks: { ...given.hooks, draw: [(shown) => drawMark(shown, latest.current.mark)] },
        width,
        height: HEIGHT,
      },
      latest.current.data,
      element,
    );
    return () => {
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [kind, isDark]);
  useEffect(
    () => plot.current?.setData(latest.current.data),
    [data, range?.[0], range?.[1], mark?.[0], mark?.[1]],
  );
  return <div ref={place} class="chart" role="img" aria-label={label} />;
}

/** Marks the time that the task stream shows. */
function drawMark({ ctx, bbox, valToPos }: uPlot, mark: ChartTime['mark']): void {
  if (mark === undefined) return;
  const [left, right] = mark.map((at) =>
    Math.max(bbox.left, Math.min(bbox.left + bbox.width, valToPos(at, 'x', true))),
  ) as [number, number];
  ctx.save();
  ctx.fillStyle = colour('accent');
  ctx.globalAlpha = 0.25;
  ctx.fillRect(left, bbox.top, Math.max(3, right - left), bbox.height);
  ctx.restore();
}

/** Returns where the point nearest to the pointer is, so that the line stands at the time in the legend. Pixels. */
export function nearest(plot: uPlot, left: number): number {
  const at = left < 0 ? undefined : plot.data[0][plot.posToIdx(left)];
  return at === undefined ? left : plot.valToPos(at, 'x');
}

/** The window of the last hour, which spans at least ten minutes, so that the first points do not fill the chart. */
function hourWindow(times: readonly number[]): [number, number] {
  const to = times.at(-1) ?? Date.now() / 1_000;
  // The newest point is not cut off by the edge.
  return [Math.min(times[0] ?? to, to - 600), to + 5];
}
