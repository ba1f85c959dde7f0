import type { Cluster } from '@goshawk/client';
import type { Millis, PolicySettings } from '@goshawk/core';
import type { JobRecord, JobTimes, Run, RunSeries } from '@goshawk/report';

/** Size of a cluster. */
export interface Shape {
  readonly workers: number;
  /** Slots per worker. */
  readonly slots: number;
  readonly schedulers: number;
}

/** A cluster that is up, and what it runs. */
export interface ReplayTarget {
  readonly cluster: Cluster;
  readonly settings: PolicySettings;
  /** Label of the run in tables, if it is not the policy’s name. */
  readonly label?: string;
  readonly shape: Shape;
  readonly totalSlots: number;
  /** Processes of the cluster, if known. */
  readonly pids: () => readonly number[];
  /** Whether it goes on when the replay is over. */
  readonly isShared: boolean;
}

export interface PolicyRun {
  readonly run: Run;
  readonly series: RunSeries;
  /** In the order of the plan. */
  readonly times: JobTimes;
  /** Records in the order of the plan; empty unless they are saved. */
  readonly records: readonly JobRecord[];
  readonly loadOffered: number;
  /** 99% of the jobs left no later than this after their time. */
  readonly latenessP99Ms: Millis;
  /** Parties whose messages and steals are not all counted. */
  readonly incomplete: readonly string[];
}
