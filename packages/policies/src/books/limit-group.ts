import type { Needs } from '@goshawk/core';
import type { JobView, StageView } from '../contract.js';
import { StageOrder } from '../stage-order.js';

/** Waiting tasks of one class that one limit holds. */
export interface LimitedTasks {
  readonly long: boolean;
  readonly reason: string;
  readonly tasks: number;
  /** The job among them that arrived first. */
  readonly oldest: JobView;
}

/** Waiting stages of one user that limits treat alike. */
export class LimitGroup {
  readonly key: string;
  readonly user: string;
  readonly needs: Needs;
  readonly long: boolean;
  readonly isGang: boolean;
  /** Number of tasks that must start together. */
  readonly together: number;
  /** Added to the arrival of a job: higher priorities go first. */
  readonly offsetMs: number;
  /** Breaks ties between groups. Pilots precede the other tasks of their job, which may have to wait for the pilots. */
  readonly rank: number;
  readonly order = new StageOrder();
  /** Number of waiting tasks, and of those that the last allotment admitted. */
  tasks = 0;
  admitted = 0;
  /** The first stage that was not admitted completely, and the limit that stopped it; undefined: none. */
  held: { readonly job: JobView; readonly reason: string } | undefined;

  constructor(key: string, { job, needs, gang, part }: StageView, wanted: number, made: number) {
    this.key = key;
    this.user = job.user;
    this.needs = needs;
    this.long = job.long;
    this.isGang = gang;
    this.together = gang ? wanted : 1;
    this.offsetMs = PRIORITY_MS[job.priority];
    this.rank = part === 'pilots' ? made - PILOTS_FIRST : made;
  }
}

const PRIORITY_MS = { high: -1e15, normal: 0, low: 1e15 } as const;
const PILOTS_FIRST = 1e9;
