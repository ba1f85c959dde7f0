import { nearest } from '@goshawk/core';
import { CARBYNE_FIGURES } from './carbyne/figures.js';
import type { Figure } from './figure.js';
import { goshawkParts } from './goshawk/parts.js';
import { goshawkSize } from './goshawk/size.js';
import { hawk8, hawk9, hawk10, hawk11 } from './hawk/against.js';
import { hawk5 } from './hawk/against-sparrow.js';
import { hawk7 } from './hawk/components.js';
import { hawk12, hawk13 } from './hawk/cutoff.js';
import { hawk14 } from './hawk/estimates.js';
import { motivation } from './hawk/motivation.js';
import { hawk6 } from './hawk/other-traces.js';
import { hawk16, hawk17 } from './hawk/prototype.js';
import { hawk15 } from './hawk/steal-cap.js';
import { packing5 } from './packing/google.js';
import { packing3a, packing3b } from './packing/stability.js';
import { packing4a, packing4b } from './packing/uniform.js';
import { slearnAdaptive } from './slearn/adaptive.js';
import { slearnDag } from './slearn/dag.js';
import { slearnError } from './slearn/error.js';
import { slearnJct } from './slearn/jct.js';
import { slearnThin } from './slearn/thin.js';
import { slearnWait } from './slearn/wait.js';
import { THREE_SIGMA_FIGURES } from './three-sigma/figures.js';

/** Every figure, in the order in which lists have them. One file and one line here make a new one. */
export const FIGURES: readonly Figure[] = [
  motivation,
  hawk5,
  ...hawk6,
  hawk7,
  hawk8,
  hawk9,
  hawk10,
  hawk11,
  hawk12,
  hawk13,
  hawk14,
  hawk15,
  hawk16,
  hawk17,
  slearnError,
  slearnJct,
  slearnAdaptive,
  slearnThin,
  slearnWait,
  slearnDag,
  ...THREE_SIGMA_FIGURES,
  packing3a,
  packing3b,
  packing4a,
  packing4b,
  packing5,
  ...CARBYNE_FIGURES,
  goshawkSize,
  goshawkParts,
];

/** Names that stand for several figures. */
export const GROUPS: Readonly<Record<string, readonly Figure[]>> = {
  'hawk-6': hawk6,
  packing: [packing3a, packing3b, packing4a, packing4b],
  /** Those that need nothing but themselves. */
  all: FIGURES.filter(({ workload }) => workload.traceNeeded === undefined),
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
