import type { ClusterEvent, LossCause } from '@goshawk/central';
import { counted, formatDuration } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import { StoryLog } from './story-log.js';

/** Writes in central's log what becomes of the members of the cluster. */
export function clusterLog(logger: Logger): (event: ClusterEvent) => void {
  const log = new StoryLog(logger);
  return (event) => {
    const { kind, ...fields } = event;
    const rounded = 'silentMs' in fields ? { ...fields, silentMs: Math.round(fields.silentMs) } : fields;
    log.tell(kind, rounded, lineOf(event), WARNINGS.has(kind) ? 'warn' : 'info');
  };
}

const WARNINGS: ReadonlySet<ClusterEvent['kind']> = new Set([
  'worker-lost',
  'worker-quarantined',
  'scheduler-lost',
  'scheduler-given-up',
  'schedulers-missing',
]);

function lineOf(event: ClusterEvent): string {
  switch (event.kind) {
    case 'worker-joined':
      return `worker ${event.worker} joined`;
    case 'worker-lost':
      return `worker ${event.worker} is lost with ${counted(event.tasks, 'task')}: ${lossOf(event)}`;
    case 'worker-left':
      return `worker ${event.worker} left`;
    case 'worker-quarantined':
      return `worker ${event.worker} takes no work for a while: ${event.reason}`;
    case 'worker-cured':
      return `worker ${event.worker} takes work again`;
    case 'worker-drains':
      return event.on ? `worker ${event.worker} is to drain` : `worker ${event.worker} is to take work again`;
    case 'worker-drained':
      return `worker ${event.worker} has drained`;
    case 'scheduler-joined':
      return `scheduler ${event.scheduler} joined`;
    case 'scheduler-lost':
      return `scheduler ${event.scheduler} is lost with ${counted(event.jobs, 'job')}: ${lossOf(event)}`;
    case 'scheduler-left':
      return `scheduler ${event.scheduler} left with ${counted(event.jobs, 'job')} that have not ended`;
    case 'scheduler-given-up':
      return `scheduler ${event.scheduler} has not come back, and nobody waits for its jobs any more`;
    case 'takeover-requested':
      return `scheduler ${event.by} is to take over the jobs of ${event.scheduler}`;
    case 'takeover-completed':
      return `the jobs ${event.tag}-* were taken over`;
    case 'schedulers-missing':
      return event.schedulers.length === 0
        ? 'no scheduler is missing any more'
        : `missing since before this central started: ${event.schedulers.join(', ')}; their jobs are in no list (goshawk takeover)`;
    case 'cutoff-changed':
      return `jobs are long from ${formatDuration(event.toMs)} on; it was ${formatDuration(event.fromMs)}`;
    case 'task-preempted':
      return `a task of ${event.job} is to end at ${event.worker}: the policy wants its room`;
  }
}

function lossOf({ cause, silentMs }: { readonly cause: LossCause; readonly silentMs: number }): string {
  switch (cause) {
    case 'lease':
      return `nothing was heard of it for ${formatDuration(silentMs)}, so its lease ended`;
    case 'replaced':
      return 'another process came in its place';
    case 'takeover':
      return 'an operator gives its jobs to another one';
  }
}
