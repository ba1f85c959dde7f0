import type { answers, WorkerDelta } from '@goshawk/gateway';
import type { z } from 'zod';

/** Types of the API's responses. */
export type Session = z.infer<typeof answers.session>;
export type Role = Session['role'];
export type Overview = z.infer<typeof answers.overview>;
export type Point = z.infer<typeof answers.history>['points'][number];
export type WorkerDetail = z.infer<typeof answers.worker>;
export type JobList = z.infer<typeof answers.jobs>;
export type JobSummary = JobList['jobs'][number];
export type Job = z.infer<typeof answers.job>;
export type Attempt = Job['attempts'][number];
export type Why = z.infer<typeof answers.why>;
export type TaskList = z.infer<typeof answers.tasks>;
export type Logs = z.infer<typeof answers.logs>;
export type ClusterEvents = z.infer<typeof answers.clusterEvents>;
export type Stream = z.infer<typeof answers.stream>;
export type Plan = z.infer<typeof answers.plan>;
export type WhatIfAnswer = z.infer<typeof answers.jobWhatIf>;
export type Bulk = z.infer<typeof answers.bulk>;
export type Users = z.infer<typeof answers.users>;
export type Usage = z.infer<typeof answers.usage>;
export type Policy = z.infer<typeof answers.policy>;
export type Workers = z.infer<typeof answers.workers>;
export type Attention = Overview['attention'][number];
export type Predictor = z.infer<typeof answers.predictor>;

export type { WorkerDelta };

/** A worker as assembled from deltas. */
export interface Worker {
  readonly name: string;
  readonly slots: number;
  readonly isShort: boolean;
  readonly state: WorkerDetail['state'];
  readonly busy: number;
  /** Number of running long tasks; −1: unknown. */
  readonly long: number;
  readonly queued: number;
  /** CPUs that running tasks request; −1: unknown. */
  readonly cpus: number;
}
