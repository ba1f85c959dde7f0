import type { Series } from '../figure.js';
import type { WaitSegment, WaitShare } from '../jobwise.js';
import { pairName } from '../point.js';
import { seriesOf } from '../series.js';

/** Mean run time under another variant over that under this one. */
export function averageSpeedup(of: string, over: string): Series {
  return seriesOf(`average, over ${over}`, 'ratio', 'speedups', pairName(of, over), ({ average }) => average);
}

/** The median of the speed-ups of single jobs. */
export function medianSpeedup(of: string, over: string): Series {
  return seriesOf(`P50, over ${over}`, 'ratio', 'speedups', pairName(of, over), ({ p50 }) => p50);
}

/** Share of the wide jobs whose normalised wait lies in a segment. */
export function waits(
  of: string,
  over: string,
  segment: WaitSegment,
  how: keyof WaitShare,
  name: string,
): Series {
  return seriesOf(name, 'share', 'waits', pairName(of, over), (shares) => shares[segment][how]);
}

/** Median error of what was believed of wide jobs. */
export function errorP50(of: string): Series {
  return seriesOf(`P50 prediction error, ${of}`, 'share', 'beliefs', of, (beliefs) => beliefs.errorP50);
}

/** Share of wide jobs whose estimate puts them into the right queue. */
export function rightQueue(of: string): Series {
  const name = `wide jobs in the right queue, ${of}`;
  return seriesOf(name, 'share', 'beliefs', of, (beliefs) => beliefs.rightQueue);
}

/** Share of the sampled jobs for which this ratio was chosen. */
export function ratioChosen(of: string, percent: number): Series {
  return seriesOf(`sampled at ${percent}%`, 'share', 'ratios', of, (ratios) => ratios.get(percent) ?? 0);
}
