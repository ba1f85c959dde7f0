import type { Millis } from '@goshawk/core';
import type { Distribution } from './distribution.js';
import type { Utility } from './utility.js';

/**
 * The planning problem: the cluster and its jobs as numbers at one time. A node is a slot. `now`,
 * `startsBefore` and utilities use absolute time; other times are relative to now.
 */
export interface Problem {
  readonly now: Millis;
  readonly cycle: Millis;
  /** Possible starts, relative to now: ascending from 0. */
  readonly starts: readonly Millis[];
  /** Equivalent nodes (§4.3.3). */
  readonly partitions: readonly Partition[];
  readonly running: readonly RunningGang[];
  readonly pending: readonly PendingGang[];
  /** Value lost per grid step after the first. */
  readonly tieBreak: number;
}

interface Partition {
  /** Name for display. */
  readonly id: string;
  /** Nodes that accept tasks. */
  readonly nodes: number;
}

export interface RunningGang {
  /** Nodes by partition. */
  readonly nodes: readonly number[];
  /** Run times of the gang, scaled by its actual slowdown. */
  readonly distribution: Distribution;
  readonly elapsed: Millis;
  /** Cost of killing it; undefined: not permitted. */
  readonly preemptCost: number | undefined;
}

/** Tasks that start together, one node each. */
export interface PendingGang {
  readonly nodes: number;
  readonly spaces: readonly Space[];
  readonly utility: Utility;
  /** Run times of the gang on preferred nodes. */
  readonly distribution: Distribution;
  /** Absolute time before which the gang must start. */
  readonly startsBefore: Millis;
  /** Whether the gang must start now, because its tasks belong to a gang that already runs. */
  readonly mustStartNow: boolean;
  /** Whether it may start now. If resources other than slots are in use, the nodes of a plan would stay idle. */
  readonly mayStartNow: boolean;
  /** Value of a start after the window; 0: not possible. */
  readonly deferral: number;
}

/** Partitions that a job may use, and the resulting slowdown. */
export interface Space {
  /** Indices of partitions, ascending. */
  readonly partitions: readonly number[];
  readonly slowdown: number;
}

/** One way to start a job, at a place and a time: a binary variable of the program. */
export interface Option {
  /** Index in `pending`. */
  readonly job: number;
  /** Index in the job's spaces. */
  readonly space: number;
  /** Index in `starts`; `DEFERRED`: after all of them. */
  readonly slot: number;
  /** Expected utility. */
  readonly utility: number;
}

export const DEFERRED = -1;

/** Immediate actions and planned starts. */
export interface Plan {
  /** Indices in `running`. */
  readonly preempts: readonly number[];
  readonly starts: readonly GangStart[];
  /** Later starts, and deferred jobs. */
  readonly planned: readonly Option[];
  readonly objective: number;
}

export interface GangStart {
  /** Index in `pending`. */
  readonly job: number;
  /** Nodes by partition. */
  readonly nodes: readonly number[];
}
