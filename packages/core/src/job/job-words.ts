import type { Millis } from '../ids.js';
import { counted, formatCount } from '../text/counts.js';
import { formatDuration } from '../text/durations.js';
import type { JobDetail, JobSummary } from './view.js';

/** Value of the scheduler's `classifiedBy` before pilots have run. */
const UNDECIDED = 'pilots, not yet';

/** Describes the class: `short, decided by 3 pilots`, or the assumed class while pilots run. */
export function classWords(job: Pick<JobSummary, 'class' | 'classifiedBy'>): string {
  if (job.classifiedBy === UNDECIDED)
    return `unknown until its pilots have run; treated as ${job.class} until then`;
  const by = job.classifiedBy === 'given' ? 'the submitted estimate' : job.classifiedBy;
  return by.startsWith('fewer than')
    ? `${job.class}, because it has ${by}`
    : `${job.class}, decided by ${by}`;
}

/** Describes the cutoff: `a job whose tasks take 10 s or more on average is long (learned from 200 jobs)` */
export function cutoffWords(cutoffMs: Millis, origin: string): string {
  // `said` is a value of the JSON output, which keeps its words.
  const from = origin === 'said' ? 'set by --cutoff' : origin;
  return `a job whose tasks take ${formatDuration(cutoffMs)} or more on average is long (${from})`;
}

/** Returns the time breakdown of an ended job: label and value. */
export function measures(job: JobDetail): [label: string, value: string][] {
  const lines: [string, string][] = [];
  if (job.firstStartMs !== undefined) {
    lines.push(['waited', `${formatDuration(job.firstStartMs)} until the first task started`]);
  }
  if (job.meanRunMs !== undefined) lines.push(['ran', runTimes(job, job.meanRunMs)]);
  // If no pilot ran to an end, the estimate is 0.
  if (job.estimateMs && job.meanRunMs !== undefined) {
    lines.push(['estimate', estimateAgainst(job.estimateMs, job.meanRunMs)]);
  }
  const { failed, lost } = job.attempts;
  if (failed + lost > 0) {
    const parts = [
      ...(failed > 0 ? [counted(failed, 'failed attempt')] : []),
      ...(lost > 0
        ? [`${counted(lost, 'interrupted attempt')} (worker lost or drained, preemption, or end of its gang)`]
        : []),
    ];
    lines.push(['lost', `${formatDuration(job.wastedMs)} to ${parts.join(' and ')}`]);
  }
  return lines;
}

function runTimes({ runPercentilesMs: spread, tasks }: JobDetail, meanMs: Millis): string {
  const mean = `${formatDuration(meanMs)} per task${tasks.completed > 1 ? ' on average' : ''}`;
  if (spread === undefined || tasks.completed < 2) return mean;
  const { p50, p90, max } = spread;
  return `${mean} (p50 ${formatDuration(p50)}, p90 ${formatDuration(p90)}, max ${formatDuration(max)})`;
}

function estimateAgainst(estimateMs: Millis, truthMs: Millis): string {
  const estimate = `${formatDuration(estimateMs)} per task`;
  if (truthMs === 0) return estimate;
  const off = Math.round((100 * (estimateMs - truthMs)) / truthMs);
  if (off === 0) return `${estimate}, which was right`;
  return `${estimate}, which was ${formatCount(Math.abs(off))}% too ${off > 0 ? 'high' : 'low'}`;
}
