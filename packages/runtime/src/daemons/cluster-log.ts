import type { ClusterEvent, LossCause } from '@goshawk/central';
import { counted, formatDuration } from '@goshawk/core';
import { type Logger, parsePartyName, parseProcessName } from '@goshawk/transport';
import type { NewEvent } from './event-book.js';
import { EventLog } from './event-log.js';
import { diagnoseSilence } from './silence-diagnosis.js';

/** Maximum number of concurrent checks. Many losses at once have one cause, so a few checks suffice. */
const CHECKS_MAX = 20;

/**
 * Logs membership changes in central's log. After a loss it connects to the lost process, and logs in a second line
 * whether the process has ended or hangs.
 *
 * @param explain receives the finding about a lost worker
 * @param record receives the events that are kept
 */
export function clusterLog(
  logger: Logger,
  explain: (worker: string, address: string, why: string) => void,
  record: (event: NewEvent) => void = () => {},
  diagnose: (endpoint: string) => Promise<string> = diagnoseSilence,
): (event: ClusterEvent) => void {
  const log = new EventLog(logger);
  const checks = new Map<string, Promise<string>>();
  /** Tag of the journal with which a scheduler joined last, by its name. */
  const tags = new Map<string, string>();
  const tell = (event: ClusterEvent): void => {
    const { kind, ...fields } = event;
    const rounded = 'silentMs' in fields ? { ...fields, silentMs: Math.round(fields.silentMs) } : fields;
    log.report(kind, rounded, lineOf(event), WARNINGS.has(kind) ? 'warn' : 'info');
    if (!TOO_FREQUENT.has(kind)) record({ kind, text: lineOf(event), ...about(event) });
  };
  /** Checks an address. Members of one process share the check. */
  const check = (address: string): Promise<string> | undefined => {
    const { endpoint } = parseProcessName(parsePartyName(address).process)!;
    const running = checks.get(endpoint);
    if (running !== undefined || checks.size >= CHECKS_MAX) return running;
    const made = diagnose(endpoint).finally(() => checks.delete(endpoint));
    checks.set(endpoint, made);
    return made;
  };
  const checkJournal = (name: string, tag: string): void => {
    const before = tags.get(name);
    tags.set(name, tag);
    if (before === undefined || before === tag) return;
    const lost = `scheduler ${name} joined with another journal: jobs ${before}-* are not in it; if they had not ended, restore a backup of its data folder`;
    log.report('journal-replaced', { scheduler: name, tag, before }, lost, 'warn');
    record({ kind: 'journal-replaced', text: lost, scheduler: name });
  };
  return (event) => {
    tell(event);
    if (event.kind === 'scheduler-joined' && !event.adopted) checkJournal(event.scheduler, event.tag);
    if ((event.kind !== 'worker-lost' && event.kind !== 'scheduler-lost') || event.cause !== 'lease') return;
    void check(event.address)?.then((finding) => {
      const { kind, cause: _, silentMs: __, ...fields } = event;
      const who = kind === 'worker-lost' ? `worker ${event.worker}` : `scheduler ${event.scheduler}`;
      log.report('loss-diagnosed', fields, `${who}, just lost: ${finding}`, 'warn');
      record({ kind: 'loss-diagnosed', text: `${who}, just lost: ${finding}`, ...about(event) });
      if (kind === 'worker-lost') explain(event.worker, event.address, finding);
    });
  };
}

/** Events of a busy cluster that are logged, but not kept. */
const TOO_FREQUENT: ReadonlySet<ClusterEvent['kind']> = new Set(['task-preempted', 'cutoff-changed']);

/** The members that an event is about, and who requested it. */
function about(event: ClusterEvent): Pick<NewEvent, 'worker' | 'scheduler' | 'by'> {
  return {
    worker: 'worker' in event ? event.worker : undefined,
    scheduler: 'scheduler' in event ? event.scheduler : undefined,
    by: event.kind === 'worker-drains' ? event.by : undefined,
  };
}

const WARNINGS: ReadonlySet<ClusterEvent['kind']> = new Set([
  'worker-lost',
  'worker-missing',
  'worker-quarantined',
  'resources-ignored',
  'scheduler-lost',
  'scheduler-given-up',
  'schedulers-missing',
]);

function lineOf(event: ClusterEvent): string {
  switch (event.kind) {
    case 'worker-joined':
      return `worker ${event.worker} joined`;
    case 'worker-lost':
      return `worker ${event.worker} is lost with ${counted(event.tasks, 'task')}: ${describeLoss(event)}`;
    case 'worker-missing':
      return `worker ${event.worker} did not return after central restarted`;
    case 'resources-ignored':
      return `${counted(event.resources.length, 'resource')} of worker ${event.worker} ${event.resources.length === 1 ? 'does' : 'do'} not count, as it has used too many names, or the cluster has: ${event.resources.slice(0, 3).join(', ')}`;
    case 'worker-left':
      return `worker ${event.worker} left`;
    case 'worker-removed':
      return `lost worker ${event.worker} was removed from the list${byWhom(event)}`;
    case 'worker-quarantined':
      return `worker ${event.worker} is quarantined: ${event.reason}`;
    case 'worker-cured':
      return `worker ${event.worker} accepts tasks again`;
    case 'worker-drains':
      return event.on
        ? `worker ${event.worker} was asked to drain${byWhom(event)}`
        : `worker ${event.worker} was asked to accept tasks again${byWhom(event)}`;
    case 'worker-drained':
      return `worker ${event.worker} has drained`;
    case 'scheduler-joined':
      return `scheduler ${event.scheduler} joined`;
    case 'scheduler-lost':
      return `scheduler ${event.scheduler} is lost with ${counted(event.jobs, 'job')}: ${describeLoss(event)}`;
    case 'scheduler-left':
      return `scheduler ${event.scheduler} left with ${counted(event.jobs, 'job')} that have not ended`;
    case 'scheduler-given-up':
      return `scheduler ${event.scheduler} has not returned; its jobs are no longer expected`;
    case 'takeover-requested':
      return `scheduler ${event.by} was asked to take over the jobs of ${event.scheduler}`;
    case 'takeover-completed':
      return `jobs ${event.tag}-* were taken over`;
    case 'schedulers-missing':
      return describeMissing(event);
    case 'cutoff-changed':
      return `the cutoff for long jobs is now ${formatDuration(event.toMs)}; it was ${formatDuration(event.fromMs)}`;
    case 'task-preempted':
      return `a task of ${event.job} is preempted at ${event.worker}: the policy needs its resources`;
  }
}

function describeMissing({ schedulers, unlisted }: ClusterEvent & { kind: 'schedulers-missing' }): string {
  if (schedulers.length === 0) return 'no scheduler is missing';
  const missing = `missing: ${schedulers.join(', ')}`;
  if (unlisted.length === 0) return missing;
  const jobs = unlisted.length === schedulers.length ? 'their jobs' : `the jobs of ${unlisted.join(', ')}`;
  return `${missing}; ${jobs} are not listed until they start again (with PostgreSQL: goshawk takeover)`;
}

function byWhom({ by }: { readonly by: string | undefined }): string {
  return by === undefined ? '' : ` by ${by}`;
}

function describeLoss({ cause, silentMs }: { readonly cause: LossCause; readonly silentMs: number }): string {
  switch (cause) {
    case 'lease':
      return `it was silent for ${formatDuration(silentMs)}, so its lease expired`;
    case 'replaced':
      return 'another process replaced it';
    case 'takeover':
      return 'an operator gave its jobs to another scheduler';
  }
}
