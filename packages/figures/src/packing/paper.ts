import { type Axis, settingAxis } from '../axis.js';
import type { Figure, Paper, Series, Variant } from '../figure.js';
import { lines } from '../panels.js';
import { seriesOf } from '../series.js';
import { policies } from '../variants.js';

const PACKING: Paper = {
  name: 'Packing',
  reference:
    'K. Psychas and J. Ghaderi, Scheduling Jobs with Random Resource Requirements in Computing Clusters, INFOCOM 2019',
};

const POLICIES: readonly Variant[] = policies('fifo-ff', 'bfjs', 'vqs', 'vqs-bf');

export function queue(policy: string): Series {
  return seriesOf(policy, 'tasks', 'queues', policy, (tasks) => tasks);
}

const QUEUES = POLICIES.map(({ name }) => queue(name));

export function loadAxis(loads: readonly number[]): Axis {
  return settingAxis('load', 'even', loads, () => ({}));
}

/** Queues of the four policies in the paper's own model. @param drawn what the panel shows of them */
export function packingFigure(
  drawn: string,
  of: Omit<Figure, 'paper' | 'mode' | 'settings' | 'variants' | 'panels'>,
): Figure {
  return {
    ...of,
    paper: PACKING,
    mode: 'modelled',
    settings: {},
    variants: POLICIES,
    panels: [lines(drawn, 'tasks that wait', QUEUES)],
  };
}
