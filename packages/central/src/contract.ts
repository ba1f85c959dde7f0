import type { Address, ClusterSettings, Environment, Millis } from '@goshawk/core';

export type CentralTimer =
  /** Look for leases that have ended. */
  | 'lease'
  /** Tell changes of the membership. */
  | 'publish'
  /** See whether more long tasks may run. */
  | 'match'
  /** Tell schedulers which workers are occupied. */
  | 'occupied'
  /** See whether there is too much to do. */
  | 'relief';

export interface CentralEnvironment extends Environment<CentralTimer> {
  /**
   * For how long the process has been busy since its start. ms. Central takes what it cannot keep up with by this; a
   * driver in which work takes no time has none.
   */
  readonly busyMs?: (() => Millis) | undefined;
}

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
