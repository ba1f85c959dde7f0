import { type Axis, settingAxis } from '../axis.js';
import type { Paper, Series, Variant } from '../figure.js';

export const PACKING: Paper = {
  name: 'Packing',
  reference:
    'K. Psychas and J. Ghaderi, Scheduling Jobs with Random Resource Requirements in Computing Clusters, INFOCOM 2019',
};

export const POLICIES: readonly Variant[] = ['fifo-ff', 'bfjs', 'vqs', 'vqs-bf'].map((name) => ({
  name,
  settings: {},
}));

export function queue(policy: string): Series {
  return { name: policy, unit: 'tasks', value: ({ queues }) => queues?.[policy] };
}

export const QUEUES = POLICIES.map(({ name }) => queue(name));

export function loadAxis(loads: readonly number[]): Axis {
  return settingAxis('load', 'even', loads, (x) => ({ x, label: `${x}`, settings: {} }));
}
