import type { Cluster } from '@goshawk/client';
import type { Millis, PolicySettings } from '@goshawk/core';
import type { JobRow, JobTimes, Run, RunSeries } from '@goshawk/report';

/** Size of a cluster. */
export interface Shape {
  readonly workers: number;
  /** Slots per worker. */
  readonly slots: number;
  readonly schedulers: number;
}

/** A running cluster and its configuration. */
export interface ReplayTarget {
  readonly cluster: Cluster;
  readonly settings: PolicySettings;
  /** Label of the run in tables, if it is not the policy’s name. */
  readonly label?: string;
  readonly shape: Shape;
  readonly totalSlots: number;
  /** Processes of the cluster, if known. */
  readonly pids: () => readonly number[];
  /** Whether the cluster keeps running after the replay. */
  readonly isShared: boolean;
}

export interface PolicyRun {
  readonly run: Run;
  readonly series: RunSeries;
  /** Times in the order of the plan. */
  readonly times: JobTimes;
  /** Records in the order of the plan; empty unless they are saved. */
  readonly records: readonly JobRow[];
  readonly loadOffered: number;
  /** At most 1% of the jobs were submitted later than this after their planned time. */
  readonly latenessP99Ms: Millis;
  /** Processes whose messages and steals were not fully counted. */
  readonly incomplete: readonly string[];
}
