import type { Address } from '@goshawk/core';
import type { CentralCounters, CentralEnvironment } from '../contract.js';
import type { LearnedCutoff } from './learned-cutoff.js';
import type { Leases } from './leases.js';
import type { NameConflicts } from './name-conflicts.js';
import type { Publisher } from './publisher.js';
import type { Registry } from './registry.js';

/** State that the membership of workers and that of schedulers share. */
export interface MembershipParts {
  readonly env: CentralEnvironment;
  readonly counters: CentralCounters;
  readonly registry: Registry;
  readonly publisher: Publisher;
  readonly leases: Leases;
  readonly names: NameConflicts;
  /** Settings for all parties, with the current cutoff. */
  readonly cutoff: LearnedCutoff;
  welcome(party: Address): void;
}
