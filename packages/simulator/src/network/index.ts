import type { Random } from '@goshawk/core';
import type { ClusterOutline, Delays, NetworkModel } from './contract.js';
import { MeasuredDelays } from './measured.js';
import { NormalDelays } from './normal.js';

export type { ClusterOutline, Delays, NetworkModel } from './contract.js';
export { parseNetwork } from './parse.js';
export {
  checkProfile,
  type MeasuredMessage,
  type MeasuredPhase,
  type MeasuredProfile,
  PROFILE_SCHEMA,
} from './profile.js';

/** Returns the random delays of a network; undefined if all are equal. */
export function delaysOf(model: NetworkModel, outline: ClusterOutline, random: Random): Delays | undefined {
  switch (model.kind) {
    case 'constant':
      return undefined;
    case 'normal':
      return new NormalDelays(model, random);
    case 'measured':
      return new MeasuredDelays(model.profile, outline, random);
  }
}
