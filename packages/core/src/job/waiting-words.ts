import type { Millis } from '../ids.js';
import { formatDuration } from '../text/durations.js';
import { type LendingView, type Predecessor, taskAddress } from './view.js';
import type { WaitingReason, WaitPhase } from './waiting.js';

/** Explains why tasks wait, and what would help. */
export const WAITING_WORDS: Readonly<
  Record<WaitingReason, { readonly why: string; readonly helps: string }>
> = {
  stage: {
    why: 'an earlier stage of their job has not completed',
    helps: 'no action needed: they start once it completes',
  },
  resuming: {
    why: 'their scheduler has restarted and is still asking workers what they run',
    helps: 'no action needed: this takes at most 5 s',
  },
  'job-limit': {
    why: 'their job is running its maximum number of tasks (--max-running, or one after workers were lost running it)',
    helps:
      'a higher --max-running at the next submission; after lost workers, no action needed: one task must run for a while',
  },
  'no-worker': { why: 'the cluster has no workers', helps: 'start workers: `goshawk worker`' },
  drained: {
    why: 'every worker that could run them is drained or in quarantine',
    helps:
      '`goshawk workers` says which: undrain workers (`goshawk drain WORKER --undo`), wait until those in quarantine are cured, or start others',
  },
  'central-away': {
    why: 'only central can place them, and central does not respond',
    helps: 'restart central; accepted jobs are kept',
  },
  placing: {
    why: 'central has not found a worker with enough room',
    helps: 'larger workers: `goshawk workers` shows their sizes',
  },
  queued: {
    why: 'they are queued at workers that central chose',
    helps: 'more workers, or CPUs',
  },
  probing: {
    why: 'their probes wait in the queues of workers',
    helps: 'more workers, or CPUs',
  },
  matching: {
    why: 'they wait at central for a worker',
    helps: '`goshawk why ID` names the limit; more workers or CPUs if all are busy',
  },
  resources: {
    why: 'no worker has enough free resources for them',
    helps: 'more workers, or a smaller demand: `goshawk workers` shows the total capacities',
  },
  seeking: {
    why: 'no worker is free; the next free worker will ask for them',
    helps: 'more workers, or CPUs',
  },
  'back-off': {
    why: 'they failed (--retry-backoff) or lost several workers, and are backing off before the next attempt',
    helps: 'no action needed: they are retried after the delay',
  },
  'other-job': {
    why: 'their job waits for another job to end (--after) or to complete (--after-ok)',
    helps:
      'no action needed, unless that job failed: `goshawk retry` it or cancel this one (`goshawk why ID` names it)',
  },
  required: {
    why: 'no worker has the attributes they require and enough room',
    helps: 'workers that match: `goshawk workers` lists attributes, `goshawk why ID` what is missing',
  },
  held: {
    why: 'their job is on hold (`goshawk hold`, --hold)',
    helps: '`goshawk release ID`; running tasks continue meanwhile',
  },
  begin: {
    why: 'their job begins later (--begin)',
    helps: 'no action needed: it starts then; `goshawk release ID` starts it now',
  },
  reserve: {
    why: 'long tasks use all the CPUs they may use, and the others are reserved for short tasks',
    helps: 'more workers or CPUs, or a smaller --reserve',
  },
  reserved: {
    why: 'the free room is reserved for another job',
    helps: 'a shorter --estimate if the tasks end sooner; more workers',
  },
  'user-limit': {
    why: 'their user or project has reached a limit (--users)',
    helps: 'no action needed: they start when other tasks of the user end; the operator can raise the limit',
  },
};

/** Names of the reasons, for charts and lists. */
export const WAITING_LABELS: Readonly<Record<WaitingReason, string>> = {
  stage: 'earlier stage',
  'job-limit': 'limit of the job',
  'no-worker': 'no worker',
  drained: 'workers drained',
  'central-away': 'no answer from central',
  placing: 'being placed',
  queued: 'in worker queues',
  probing: 'probes queued',
  matching: 'free slot',
  resources: 'free slot with room',
  seeking: 'free slot',
  'back-off': 'retry back-off',
  'other-job': 'another job',
  required: 'no worker matches',
  begin: 'begins later',
  held: 'on hold',
  resuming: 'scheduler restarts',
  reserve: 'reserved for short tasks',
  reserved: 'reserved for another job',
  'user-limit': 'limit of the user',
};

/** Phases of waiting, worded to follow "waited 3 s". */
export const WAIT_PHASE_WORDS: Readonly<Record<WaitPhase, string>> = {
  'other-job': 'for another job to end (--after, --after-ok)',
  stage: 'for the stages before theirs',
  worker: 'for a worker',
  held: 'for their job to be released, or to begin (--hold, --begin)',
  retry: 'from the first attempt, which failed or was lost, to the last one',
};

/**
 * Describes the state of a job that another job depends on: `s1-4 (running, 40% done)`. For a failed one,
 * says how to resume the other job.
 */
export function predecessorWords({ id, state, tasks, ended, ok }: Predecessor): string {
  const done = state === 'running' ? `, ${Math.floor((100 * ended) / Math.max(1, tasks))}% done` : '';
  if (ok && (state === 'failed' || state === 'cancelled'))
    return `${id} (${state}), on hold until a retry of it completes: \`goshawk retry ${id}\``;
  const known = state === 'unknown' ? 'its scheduler has not responded' : `${state}${done}`;
  return `${id} (${known})${ok ? ', to complete' : ''}`;
}

/**
 * Says what a task lends and borrows: `is paused for 2 s while task b2-7/4 uses its CPU`. Follows its name; empty for a
 * task that has never paused and uses its own CPUs.
 *
 * @param ranMs how long it has run, if it runs
 */
export function lendingWords(
  { lentTo, toChild, pausedMs = 0, borrows, borrowedFrom = [], fromParent }: LendingView,
  ranMs: Millis = 0,
): string {
  if (lentTo !== undefined && !toChild)
    return `is paused for ${formatDuration(pausedMs)} while task ${taskAddress(lentTo)} uses its CPU`;
  const lenders = borrowedFrom.map((lender) => `task ${taskAddress(lender)}`).join(' and ');
  const child =
    lentTo === undefined ? '' : `shares its CPU with task ${taskAddress(lentTo)}, whose job it has submitted`;
  const beside = fromParent
    ? `${borrows ? 'uses' : 'used'} the CPU of its parent, ${lenders || 'a task'}, which has submitted the job`
    : borrows
      ? `borrows the CPU of ${lenders || 'a task'}, which has paused for it for ${formatDuration(ranMs)}`
      : lenders === ''
        ? ''
        : `ran beside ${lenders}, which paused for it`;
  const paused = pausedMs > 0 ? `was paused for ${formatDuration(pausedMs)} while others used its CPU` : '';
  return [beside, child, paused].filter((words) => words !== '').join(', and ');
}
