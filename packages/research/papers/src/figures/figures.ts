import { nearest } from '@goshawk/core';
import type { Figure } from './figure.js';
import { CARBYNE_FIGURES } from './papers/carbyne.js';
import { GOSHAWK_FIGURES } from './papers/goshawk.js';
import { HAWK_FIGURES } from './papers/hawk.js';
import { PACKING_FIGURES } from './papers/packing.js';
import { SLEARN_FIGURES } from './papers/slearn.js';
import { THREE_SIGMA_FIGURES } from './papers/three-sigma.js';

/** Every figure, in the order of lists. */
export const FIGURES: readonly Figure[] = [
  ...HAWK_FIGURES,
  ...SLEARN_FIGURES,
  ...THREE_SIGMA_FIGURES,
  ...PACKING_FIGURES,
  ...CARBYNE_FIGURES,
  ...GOSHAWK_FIGURES,
];

/** Figures that need no trace. */
const SELF_CONTAINED = FIGURES.filter(({ workload }) => workload.traceNeeded === undefined);

/** Names of groups of figures. */
export const GROUPS: Readonly<Record<string, readonly Figure[]>> = {
  'hawk-6': SELF_CONTAINED.filter(({ id }) => id.startsWith('hawk-6-')),
  packing: SELF_CONTAINED.filter(({ id }) => id.startsWith('packing-')),
  all: SELF_CONTAINED,
};

interface UnknownFigure {
  readonly unknown: string;
  /** The most similar id, if any is similar. */
  readonly suggestion: string | undefined;
}

/** The figures with this id, or in the group with this name. */
export function figuresNamed(id: string): readonly Figure[] | UnknownFigure {
  const figure = FIGURES.find((each) => each.id === id);
  if (figure !== undefined) return [figure];
  const group = Object.hasOwn(GROUPS, id) ? GROUPS[id] : undefined;
  if (group !== undefined) return group;
  const ids = [...FIGURES.map((each) => each.id), ...Object.keys(GROUPS)];
  return { unknown: id, suggestion: nearest(id.toLowerCase(), ids) };
}
