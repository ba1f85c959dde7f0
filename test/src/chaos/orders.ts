import type { JobDetail, JobInput, Millis } from '@goshawk/core';
import type { AppendedTask, HoldPlan } from './plan.js';

type OrderState =
  /** Nobody has taken it yet. */
  | 'open'
  /** A scheduler has answered with a job. */
  | 'accepted'
  /** It will never be a job: refused for good. */
  | 'refused'
  /** Its job went with its owner's disk. */
  | 'gone'
  /** Its end is known, and all that its tasks returned. */
  | 'done';

type HoldState = 'none' | 'asked' | 'held' | 'releasing' | 'released';

/** The intent of one client, and its progress. */
export interface Order {
  readonly client: string;
  readonly key: string;
  readonly job: JobInput;
  /** Keys of those that its job starts after. */
  readonly after: readonly string[];
  /** It is cancelled unless those complete. */
  readonly afterOk: boolean;
  /** Scheduler that it is sent to first. */
  readonly via: string;
  /** The job that this one retries. */
  readonly retryOf: string | undefined;
  /** Its key is another job's. */
  readonly isConflict: boolean;
  /** When it is sent first, and when it is cancelled after it was accepted. True time. */
  readonly at: Millis;
  readonly cancelAfterMs: Millis | undefined;
  readonly retries: boolean;
  readonly hold: HoldPlan | undefined;
  readonly appends: readonly (readonly AppendedTask[])[] | undefined;
  /** The hold that its client has requested, and the state that a scheduler has confirmed. */
  holdState: HoldState;
  /** Lists of tasks that a scheduler has confirmed as appended. */
  appended: number;
  state: OrderState;
  tries: number;
  jobId: string | undefined;
  acceptedAt: Millis;
  cancelConfirmed: boolean;
  end: JobDetail | undefined;
  readonly values: Map<number, unknown>;
}

export function isOver({ state }: Order): boolean {
  return state === 'refused' || state === 'gone' || state === 'done';
}
