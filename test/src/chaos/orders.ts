import type { JobDetail, JobInput, Millis, TaskRange } from '@goshawk/core';
import type { AppendedTask, CancelTasksPlan, HoldPlan, RetryPlan } from './plan.js';

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
  /** The job of which this order retries tasks: in place, or as a new job. */
  readonly retryOf: string | undefined;
  readonly asNewOf: string | undefined;
  /** The tasks that it retries; undefined: it names none. */
  readonly chosen: readonly TaskRange[] | undefined;
  /** Its key is another job's. */
  readonly isConflict: boolean;
  /** When it is sent first, and when it is cancelled after it was accepted. True time. */
  readonly at: Millis;
  readonly cancelAfterMs: Millis | undefined;
  readonly retries: boolean;
  readonly retry: RetryPlan | undefined;
  readonly cancelTasks: CancelTasksPlan | undefined;
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
  /** Its client watches the job again then, unless it hears of its end. */
  watchAgainAt: Millis;
  cancelConfirmed: boolean;
  tasksCancelled: boolean;
  end: JobDetail | undefined;
  readonly values: Map<number, unknown>;
}

/** The state of an order before it is sent. */
export const UNSENT = {
  holdState: 'none',
  appended: 0,
  state: 'open',
  tries: 0,
  jobId: undefined,
  acceptedAt: 0,
  watchAgainAt: 0,
  cancelConfirmed: false,
  tasksCancelled: false,
  end: undefined,
} as const;

/** An order as it is decided on. */
export type OrderWish = Omit<Order, keyof typeof UNSENT | 'client' | 'values'>;

export function isOver({ state }: Order): boolean {
  return state === 'refused' || state === 'gone' || state === 'done';
}
