import type { Millis } from '../ids.js';
import type { JobClass } from '../policy/presets.js';
import type { JobSummary, SamplingView } from './view.js';
import type { WaitingReason } from './waiting.js';

/**
 * Answers to `goshawk why`: why something waits, and where the time went. Owners know their jobs, central knows who
 * stands before whom. Times are ms; those of a job count from when it was accepted.
 */

/** Tasks that wait at one owner for one reason. */
export interface WaitingGroup {
  readonly class: JobClass;
  readonly reason: WaitingReason;
  readonly tasks: number;
  /** A job of which some of them are: the one that has waited longest. */
  readonly example: string;
  /** Since that was accepted. */
  readonly exampleAgeMs: Millis;
}

/** Tasks of one job that wait for one reason. */
export interface StageWait {
  readonly stage: string;
  readonly reason: WaitingReason;
  readonly tasks: number;
  /** Since they might have started. */
  readonly waitedMs: Millis;
}

/** One task of a job, as its owner knows it. */
export interface TaskStory {
  readonly task: number;
  readonly stage: string;
  readonly state: string;
  /** Only while it waits. */
  readonly reason?: WaitingReason | undefined;
  readonly isPilot: boolean;
  readonly attempts: number;
  /** Where it is, or was last. */
  readonly worker?: string | undefined;
  /** From when it might start, its stages before it and the pilots of its job apart, to the start of its last run, or until now. */
  readonly waitedMs: Millis;
  /** Of its last run. */
  readonly ranMs?: Millis | undefined;
  /** When that ended. */
  readonly endedMs?: Millis | undefined;
}

/** How long tasks that have started had waited, by nearest rank. */
export interface WaitSpread {
  readonly tasks: number;
  readonly p50: Millis;
  readonly p90: Millis;
  readonly max: Millis;
}

export interface JobExplanation {
  readonly job: JobSummary;
  /** What central knows the job by, with its owner. */
  readonly owner: string;
  readonly number: number;
  readonly sampling?: SamplingView | undefined;
  readonly waiting: readonly StageWait[];
  /** Workers with probes of it in their queues, most first; the first hundred. */
  readonly probes: readonly { readonly worker: string; readonly probes: number }[];
  readonly probesOut: number;
  /** Probes that were stolen by, or handed to, another worker than they were sent to. */
  readonly probesMoved: number;
  /** Workers that central has matched with it. */
  readonly matches: number;
  /** Tasks in queues of workers that central has chosen; the first hundred. */
  readonly placed: readonly { readonly task: number; readonly worker: string }[];
  readonly waits?: WaitSpread | undefined;
  /** Run time of attempts that failed or were lost. */
  readonly wastedMs: Millis;
  /** The last task that ended: what the job's end waited for. */
  readonly last?: TaskStory | undefined;
  /** The task that was asked about. */
  readonly task?: TaskStory | undefined;
}

/** A batch of a job in central's order. */
export interface NeedView {
  readonly stage: number;
  /** What is known of it: `small` and `large` ones are jobs of which the pilots have not told. */
  readonly kind: 'short' | 'small' | 'long' | 'large';
  readonly tasks: number;
  readonly demand: Readonly<Record<string, number>>;
  /** Since it came, or since a worker was last found for it. */
  readonly waitedMs: Millis;
  /** What a free worker serves before it. */
  readonly ahead: { readonly jobs: number; readonly tasks: number; readonly workMs: Millis };
  /** Workers that are kept for it until what is free there is enough. */
  readonly kept: number;
  /** When and where the policy plans to start its job, where it plans ahead. */
  readonly expected?: { readonly inMs: Millis; readonly where?: string };
  /** What the policy says of it, where it says more. */
  readonly why?: string;
}

/** Who waits for workers at central, and what it has. */
export interface CentralLine {
  readonly needs: readonly NeedView[];
  /** Of workers that take work. */
  readonly slots: number;
  readonly freeSlots: number;
  /** Slots that run long tasks, and how many may. */
  readonly longRunning: number;
  readonly longLimit: number;
  /** Tasks that no worker was found for, all jobs together. */
  readonly unmatched: number;
}

/**
 * How long it may take until the need is served: as its policy plans it, or if what is believed of those before it is right;
 * undefined where nothing is believed of them, since nobody said how long they take.
 */
export function expectedWaitMs(
  { kind, ahead, expected }: NeedView,
  { slots, longLimit }: CentralLine,
): Millis | undefined {
  if (expected !== undefined) return expected.inMs;
  if (!(ahead.workMs > 0)) return undefined;
  return ahead.workMs / Math.max(1, kind === 'short' || kind === 'small' ? slots : longLimit);
}
