import { nearest } from '@goshawk/core';
import type { Figure } from './figure.js';
import { CARBYNE_FIGURES } from './papers/carbyne.js';
import { GOSHAWK_FIGURES } from './papers/goshawk.js';
import { HAWK_FIGURES } from './papers/hawk.js';
import { PACKING_FIGURES } from './papers/packing.js';
import { SLEARN_FIGURES } from './papers/slearn.js';
import { THREE_SIGMA_FIGURES } from './papers/three-sigma.js';

/** Every figure, in the order in which lists have them. */
export const FIGURES: readonly Figure[] = [
  ...HAWK_FIGURES,
  ...SLEARN_FIGURES,
  ...THREE_SIGMA_FIGURES,
  ...PACKING_FIGURES,
  ...CARBYNE_FIGURES,
  ...GOSHAWK_FIGURES,
];

/** Those that need nothing but themselves. */
const SELF_CONTAINED = FIGURES.filter(({ workload }) => workload.traceNeeded === undefined);

/** Names that stand for several figures. */
export const GROUPS: Readonly<Record<string, readonly Figure[]>> = {
  'hawk-6': SELF_CONTAINED.filter(({ id }) => id.startsWith('hawk-6-')),
  packing: SELF_CONTAINED.filter(({ id }) => id.startsWith('packing-')),
  all: SELF_CONTAINED,
};

interface UnknownFigure {
  readonly unknown: string;
  /** The id that was probably meant, if any is near. */
  readonly meant: string | undefined;
}

/** The figures that an id or the name of a group stands for. */
export function figuresNamed(id: string): readonly Figure[] | UnknownFigure {
  const figure = FIGURES.find((each) => each.id === id);
  if (figure !== undefined) return [figure];
  const group = Object.hasOwn(GROUPS, id) ? GROUPS[id] : undefined;
  if (group !== undefined) return group;
  const ids = [...FIGURES.map((each) => each.id), ...Object.keys(GROUPS)];
  return { unknown: id, meant: nearest(id.toLowerCase(), ids) };
}
