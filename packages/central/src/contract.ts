import type { Address, ClusterSettings, Environment } from '@goshawk/core';

export type CentralTimer =
  /** Look for leases that have ended. */
  | 'lease'
  /** Tell changes of the membership. */
  | 'publish'
  /** See whether more long tasks may run. */
  | 'match'
  /** Tell schedulers which workers are occupied. */
  | 'occupied';

export type CentralEnvironment = Environment<CentralTimer>;

export interface CentralConfig {
  readonly name: string;
  readonly self: Address;
  /** What everybody who joins is told. */
  readonly settings: ClusterSettings;
}

/** Counted since the start. */
export interface CentralCounters {
  tasksPlaced: number;
  workersJoined: number;
  workersLost: number;
  schedulersLost: number;
}
