import type { Millis } from '@goshawk/core';
import type { Distribution } from './distribution.js';
import type { Utility } from './utility.js';

/**
 * The planning problem: the cluster and its jobs as numbers at one time. A node is a slot. Names with `time`
 * are absolute, all others are relative to now.
 */
export interface Problem {
  readonly now: Millis;
  readonly cycle: Millis;
  /** When jobs may start, from now on: 0 first, rising. */
  readonly starts: readonly Millis[];
  /** Nodes that all jobs see alike (§4.3.3). */
  readonly partitions: readonly Partition[];
  readonly running: readonly RunningGang[];
  readonly pending: readonly PendingGang[];
  /** Value lost per grid step after the first. */
  readonly tieBreak: number;
}

interface Partition {
  /** For people. */
  readonly id: string;
  /** Nodes that accept tasks. */
  readonly nodes: number;
}

export interface RunningGang {
  /** Nodes by partition. */
  readonly nodes: readonly number[];
  /** At its actual slowdown. */
  readonly distribution: Distribution;
  readonly elapsed: Millis;
  /** Cost of killing it; undefined: not allowed. */
  readonly preemptCost: number | undefined;
}

/** Tasks that start together, one node each. */
export interface PendingGang {
  readonly nodes: number;
  readonly spaces: readonly Space[];
  readonly utility: Utility;
  /** On preferred nodes. */
  readonly distribution: Distribution;
  /** Starts at this time or later are none. */
  readonly startsBefore: Millis;
  /** It may start now or not at all: what is missing of a gang that runs. */
  readonly onlyNow: boolean;
  /** Value of waiting until after the window, if possible. */
  readonly deferral: number;
}

/** Partitions that a job may use, and the resulting slowdown. */
export interface Space {
  /** Indices of partitions, rising. */
  readonly partitions: readonly number[];
  readonly slowdown: number;
}

/** A job, where, and when: one binary variable. */
export interface Option {
  /** Index in `pending`. */
  readonly job: number;
  /** Index in the job's spaces. */
  readonly space: number;
  /** Index in `starts`; `DEFERRED`: after all of them. */
  readonly slot: number;
  /** Expected. */
  readonly utility: number;
}

export const DEFERRED = -1;

/** Current actions and intentions of a plan. */
export interface Plan {
  /** Indices in `running`. */
  readonly preempts: readonly number[];
  readonly starts: readonly GangStart[];
  /** Starts after now, and jobs that wait for longer. */
  readonly planned: readonly Option[];
  readonly objective: number;
}

export interface GangStart {
  /** Index in `pending`. */
  readonly job: number;
  /** Nodes by partition. */
  readonly nodes: readonly number[];
}
