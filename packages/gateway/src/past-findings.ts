import { counted, type HappenedEvent } from '@goshawk/core';
import { actionOf, type Finding } from './attention.js';
import type { Bar } from './task-stream.js';

/** An event that begins or ends conditions that are listed for an hour. */
export interface PastFinding {
  readonly keys: readonly string[];
  /** Wall clock. */
  readonly at: number;
  /** undefined: the event ends them. */
  readonly finding: Finding | undefined;
}

/** Returns what an event of central says about conditions that need attention; undefined: nothing. */
export function pastFinding(event: HappenedEvent): PastFinding | undefined {
  const { kind, at, text, worker = '', scheduler = '' } = event;
  const begins = (finding: Omit<Finding, 'isLasting'>): PastFinding => ({
    ...{ keys: [finding.key], at },
    finding: { ...finding, isLasting: true },
  });
  const ends = (...keys: string[]): PastFinding => ({ keys, at, finding: undefined });
  const ofWorker = { link: `#/workers/${encodeURIComponent(worker)}` };
  switch (kind) {
    case 'worker-quarantined':
      return begins({
        ...{ key: `quarantined ${worker}`, level: 'warning', ...ofWorker },
        what: `1 worker quarantined: ${worker}`,
        hint: text.replace(/^worker .*? is quarantined: /, ''),
        actions: [actionOf('drain', { worker })],
      });
    case 'worker-cured':
      return ends(`quarantined ${worker}`);
    case 'worker-lost':
      return begins({
        ...{ key: `lost ${worker}`, level: 'error', ...ofWorker },
        ...{ what: `1 worker lost: ${worker}`, hint: `${text}; see its log` },
      });
    case 'worker-joined':
    case 'worker-left':
    case 'worker-removed':
      return ends(`lost ${worker}`, `quarantined ${worker}`);
    case 'scheduler-lost':
      return begins({
        ...{ key: `silent scheduler ${scheduler}`, level: 'error', link: null },
        ...{ what: `no answer from scheduler ${scheduler}`, hint: `${text}; its log says why it stopped` },
      });
    case 'scheduler-joined':
    case 'scheduler-left':
    case 'takeover-completed':
      return ends(`silent scheduler ${scheduler}`);
    default:
      return undefined;
  }
}

/** Maximum number of jobs whose failures at a worker are named. */
const JOBS_SHOWN = 3;

/** Says which attempts failed at a worker, as far as they are in the sample, with the log of the latest one. */
export function failuresAt(bars: readonly Bar[]): Pick<Finding, 'hint' | 'actions'> {
  const jobs = new Map<string, { words: string; count: number }>();
  for (const { job, name } of bars) {
    const known = jobs.get(job) ?? { words: `${name} (${job})`, count: 0 };
    jobs.set(job, { ...known, count: known.count + 1 });
  }
  const latest = bars.at(-1);
  if (latest === undefined) return { hint: '', actions: [] };
  const most = [...jobs.values()].sort((one, other) => other.count - one.count);
  const named = most
    .slice(0, JOBS_SHOWN)
    .map(({ words, count }) => `at least ${counted(count, 'attempt')} of ${words}`);
  const rest = most.length > JOBS_SHOWN ? `, and of ${counted(most.length - JOBS_SHOWN, 'more job')}` : '';
  return {
    hint: `; within the last hour ${named.join(', ')}${rest} failed there`,
    actions: [actionOf('log', { job: latest.job, task: latest.task })],
  };
}
