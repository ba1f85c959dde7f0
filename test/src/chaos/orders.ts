import type { Address, JobDetail, JobInput, Millis, TaskRange } from '@goshawk/core';
import type { AppendedTask, CancelTasksPlan, HoldPlan, RetryPlan } from './plan.js';

type OrderState =
  /** No scheduler has accepted it yet. */
  | 'open'
  /** A scheduler has answered with a job. */
  | 'accepted'
  /** Refused permanently. */
  | 'refused'
  /** Lost with its owner's disk. */
  | 'gone'
  /** The client has received its end and all results of its tasks. */
  | 'done';

type HoldState = 'none' | 'asked' | 'held' | 'releasing' | 'released';

/** The intent of one client, and its progress. */
export interface Order {
  readonly client: string;
  readonly key: string;
  readonly job: JobInput;
  /** Keys of the orders that its job starts after. */
  readonly after: readonly string[];
  /** Whether the job is cancelled unless these complete. */
  readonly afterOk: boolean;
  /** The scheduler that the order is sent to first. */
  readonly via: string;
  /** The job of which this order retries tasks: in place, or as a new job. */
  readonly retryOf: string | undefined;
  readonly asNewOf: string | undefined;
  /** The tasks that it retries; undefined: all. */
  readonly chosen: readonly TaskRange[] | undefined;
  /** Whether the key belongs to another job. */
  readonly isConflict: boolean;
  /** Times of the first submission, and of the cancellation after its acceptance. True time. */
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
  /** The scheduler that refused it permanently. */
  refusedBy: Address | undefined;
  /** Number of the request that submits it; undefined if the next one is new. */
  request: number | undefined;
  tries: number;
  jobId: string | undefined;
  acceptedAt: Millis;
  /** When the client watches the job again, unless it has received its end. */
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
  refusedBy: undefined,
  request: undefined,
  tries: 0,
  jobId: undefined,
  acceptedAt: 0,
  watchAgainAt: 0,
  cancelConfirmed: false,
  tasksCancelled: false,
  end: undefined,
} as const;

/** An order before the decision to send it. */
export type OrderWish = Omit<Order, keyof typeof UNSENT | 'client' | 'values'>;

export function isOver({ state }: Order): boolean {
  return state === 'refused' || state === 'gone' || state === 'done';
}
