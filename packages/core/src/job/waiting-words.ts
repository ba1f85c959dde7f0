import type { Predecessor } from './view.js';
import type { WaitingReason, WaitPhase } from './waiting.js';

/** Why tasks wait, as a person would say it, and what would help. */
export const WAITING_WORDS: Readonly<
  Record<WaitingReason, { readonly why: string; readonly helps: string }>
> = {
  stage: {
    why: 'an earlier stage of their job has not completed',
    helps: 'nothing: they start when it has',
  },
  resuming: {
    why: 'their scheduler was started again and still asks the workers what they run of its jobs',
    helps: 'nothing: it takes 5 s at most',
  },
  'job-limit': {
    why: 'as many tasks of their job run as it allows (--max-running), or one, after workers were lost with it',
    helps:
      'a higher --max-running at the next submission; after lost workers nothing: one task has to run for a while',
  },
  'no-worker': { why: 'the cluster has no worker', helps: 'start workers: `goshawk worker`' },
  drained: {
    why: 'each worker that could run them is drained',
    helps: 'let workers take work again (`goshawk drain WORKER --undo`), or start others',
  },
  'central-away': {
    why: 'only central may place them, and central does not answer',
    helps: 'start central again; accepted jobs are kept',
  },
  pilots: {
    why: 'the first tasks of their job (pilots) still show how long its tasks take',
    helps: 'an estimate at the submission (--estimate)',
  },
  placing: {
    why: 'central has not found a worker with room for them',
    helps: 'workers of their size: `goshawk workers` shows what there is',
  },
  queued: {
    why: 'they are in the queues of the workers that central has chosen',
    helps: 'more workers, or slots',
  },
  probing: {
    why: 'their probes wait in the queues of workers',
    helps: 'more workers, or slots',
  },
  matching: {
    why: 'no worker is free for them',
    helps: 'more workers, or slots; for long tasks, a smaller --reserve',
  },
  resources: {
    why: 'no worker has a free slot, and enough left of what each of them demands',
    helps: 'more workers, or a smaller demand: `goshawk workers` shows what they have in all',
  },
  seeking: {
    why: 'no worker is free for them; the next free one asks for them',
    helps: 'more workers, or slots',
  },
  'back-off': {
    why: 'they failed, and rest before the next attempt (--retry-backoff)',
    helps: 'nothing: they start again when the rest is over',
  },
  'other-job': {
    why: 'their job starts after another one, which has not ended (--after, --after-ok)',
    helps: 'nothing: it starts then; `goshawk why ID` says which job, and how far that is',
  },
  required: {
    why: 'the workers do not have what they require, or not the room for them',
    helps: 'workers that have it: `goshawk workers` shows what there is, `goshawk why ID` what is missing',
  },
  held: {
    why: 'their job is held (`goshawk hold`, --hold)',
    helps: '`goshawk release ID`; tasks that run go on meanwhile',
  },
  begin: {
    why: 'their job begins later (--begin)',
    helps: 'nothing: it starts then; `goshawk release ID` starts it now',
  },
};

/** What tasks waited for, after "waited 3 s". */
export const WAIT_PHASE_WORDS: Readonly<Record<WaitPhase, string>> = {
  'other-job': 'for another job to end (--after, --after-ok)',
  stage: 'for the stages before theirs',
  pilots: 'for the pilots of their job to show how long its tasks take',
  worker: 'for a free worker',
  held: 'for their job to be released, or to begin (--hold, --begin)',
  retry: 'from a first attempt, which failed or was lost, to the one that counts',
};

/** A job that another one waits for, and how far it is: `s1-4 (running, 40% done)`. A failed one says what would release the other. */
export function predecessorWords({ id, state, tasks, ended, ok }: Predecessor): string {
  const done = state === 'running' ? `, ${Math.floor((100 * ended) / Math.max(1, tasks))}% done` : '';
  if (ok && (state === 'failed' || state === 'cancelled'))
    return `${id} (${state}), held until a retry of it completes: \`goshawk retry ${id}\``;
  const known = state === 'unknown' ? 'its scheduler has not answered' : `${state}${done}`;
  return `${id} (${known})${ok ? ', to complete' : ''}`;
}
