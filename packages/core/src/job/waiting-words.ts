import type { Predecessor } from './view.js';
import type { WaitingReason, WaitPhase } from './waiting.js';

/** Why tasks wait, as a person would say it, and what would help. */
export const WAITING_WORDS: Readonly<
  Record<WaitingReason, { readonly why: string; readonly helps: string }>
> = {
  stage: {
    why: 'their stage comes after another one of their job',
    helps: 'nothing: they start when that has completed',
  },
  resuming: {
    why: 'their scheduler was started again, and workers have not told yet what they run of its jobs',
    helps: 'nothing: it takes as long as a lease at most',
  },
  'job-limit': {
    why: 'as many tasks of their job run as it allows (--max-running)',
    helps: 'a higher --max-running at the next submission',
  },
  'no-worker': { why: 'no worker is there', helps: 'start workers: `goshawk worker`' },
  drained: {
    why: 'each worker that could take them is being drained, or was',
    helps: 'let workers take work again (`goshawk drain WORKER --undo`), or start others',
  },
  'central-away': {
    why: 'only central may place them, and it is silent',
    helps: 'start central again; what was accepted is kept',
  },
  pilots: {
    why: 'the pilots of their job have not told what it is',
    helps: 'an estimate at the submission (--estimate)',
  },
  placing: {
    why: 'central was asked for a worker and has not answered, or knows none that has room',
    helps: 'workers of their size: `goshawk workers` shows what there is',
  },
  queued: {
    why: 'they are in the queues of workers that central has chosen',
    helps: 'more workers, or slots',
  },
  probing: {
    why: 'their probes are in queues of workers',
    helps: 'more workers, or slots',
  },
  matching: {
    why: 'central knows of them, and has no free worker for them',
    helps: 'more workers, or slots; of long tasks, a smaller --reserve',
  },
  resources: {
    why: 'no free worker has left what each of them demands',
    helps: 'a smaller demand, or workers with more of it: `goshawk workers` shows what they have in all',
  },
  seeking: {
    why: 'the next worker that has nothing to do and asks takes them',
    helps: 'more workers, or slots',
  },
  'back-off': {
    why: 'they failed, and rest before they are tried again (--retry-backoff)',
    helps: 'nothing: they are tried again when their time has come',
  },
  'other-job': {
    why: 'their job starts after another one that has not ended (--after, --after-ok)',
    helps: 'nothing: it starts when that has ended; `goshawk why ID` says which, and how far that is',
  },
  required: {
    why: 'no worker that is there has what they require (--require), and room for them',
    helps: 'a worker that has it: `goshawk worker --attribute`; `goshawk workers` shows what there is',
  },
};

/** What tasks waited for, after "waited 3 s". */
export const WAIT_PHASE_WORDS: Readonly<Record<WaitPhase, string>> = {
  'other-job': 'for another job to end (--after, --after-ok)',
  stage: 'for the stages before theirs',
  pilots: 'for the pilots of their job to tell what it is',
  worker: 'for a free worker',
  retry: 'from a first attempt, which came to nothing, to the one that counts',
};

/** A job that another one waits for, and how far it is: `s1-4 (running, 40% done)`. */
export function predecessorWords({ id, state, tasks, ended, ok }: Predecessor): string {
  const done = state === 'running' ? `, ${Math.floor((100 * ended) / Math.max(1, tasks))}% done` : '';
  const known = state === 'unknown' ? 'its scheduler has not answered' : `${state}${done}`;
  return `${id} (${known})${ok ? ', to complete' : ''}`;
}
