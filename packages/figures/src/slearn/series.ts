import type { Series } from '../figure.js';
import type { WaitSegment, WaitShare } from '../jobwise.js';
import { pairName } from '../point.js';

/** Mean run time under another variant over that under this one. */
export function averageSpeedup(of: string, over: string, name = `average, over ${over}`): Series {
  return {
    name,
    unit: 'ratio',
    value: (point) => point.speedups?.[pairName(of, over)]?.average,
  };
}

/** The median of the speed-ups of single jobs. */
export function medianSpeedup(of: string, over: string, name = `P50, over ${over}`): Series {
  return {
    name,
    unit: 'ratio',
    value: (point) => point.speedups?.[pairName(of, over)]?.p50,
  };
}

/** Share of the wide jobs whose normalised wait lies in a segment. */
export function waits(
  of: string,
  over: string,
  segment: WaitSegment,
  how: keyof WaitShare,
  name: string,
): Series {
  return { name, unit: 'share', value: (point) => point.waits?.[pairName(of, over)]?.[segment][how] };
}

/** Median error of what was believed of wide jobs. */
export function errorP50(of: string, name = `P50 prediction error, ${of}`): Series {
  return { name, unit: 'share', value: (point) => point.beliefs?.[of]?.errorP50 };
}

/** Share of wide jobs whose estimate puts them into the right queue. */
export function rightQueue(of: string): Series {
  return {
    name: `wide jobs in the right queue, ${of}`,
    unit: 'share',
    value: (point) => point.beliefs?.[of]?.rightQueue,
  };
}

/** Share of the sampled jobs for which this ratio was chosen. */
export function ratioChosen(of: string, percent: number): Series {
  return {
    name: `sampled at ${percent}%`,
    unit: 'share',
    value: (point) => (point.ratios?.[of] === undefined ? undefined : (point.ratios[of].get(percent) ?? 0)),
  };
}
