import type { ScoreRules } from './passes.js';

/** How free resources are given out once everybody has started what it must. */
export type Leftover =
  | { readonly kind: 'drf' | 'drf-strict' | 'srtf' | 'sjf' | 'none' }
  | ({ readonly kind: 'score' } & ScoreRules);
