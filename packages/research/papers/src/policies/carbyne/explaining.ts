import { formatDuration, type Millis } from '@goshawk/core';
import type { PolicyExplanation } from '@goshawk/policies';
import { type Amounts, dominantShare, isCounted } from '@goshawk/policies';
import type { StageState } from './jobs.js';
import type { Leftover } from './passes.js';

/** Facts for an explanation. */
interface Facts {
  readonly resources: readonly string[];
  readonly whole: Amounts;
  /** Fair share of the stage's job, by resource. */
  readonly due: Amounts;
  readonly leftover: Leftover;
  readonly hasRoom: boolean;
  /** Number of other jobs with waiting tasks. */
  readonly others: number;
  readonly now: Millis;
}

/** Explains why a stage waits: room, what its job must start by now, and who is next. */
export function explainWait({ job, place, view }: StageState, facts: Facts): PolicyExplanation {
  const { plan } = job;
  const parts: string[] = [];
  if (!facts.hasRoom) parts.push('no worker has room for it now');
  if (plan?.isAltruistic === true) parts.push(explainStart(plan.firstStart(place), plan.endAt, facts.now));
  parts.push(shareOf(job.used, view.demand, facts), explainLeftover(facts.leftover));
  if (facts.others > 0)
    parts.push(`${facts.others === 1 ? '1 other job waits' : `${facts.others} other jobs wait`}`);
  return { reason: facts.hasRoom ? 'matching' : 'resources', sentence: parts.join('; ') };
}

function explainStart(startAt: Millis, endAt: Millis, now: Millis): string {
  const end = `its job must end within ${formatDuration(Math.max(0, Math.round(endAt - now)))}, as with its fair share alone`;
  if (startAt === Number.POSITIVE_INFINITY) return end;
  if (startAt <= now) return `${end}, so this stage must start now`;
  return `${end}, so this stage need not start for ${formatDuration(Math.round(startAt - now))}`;
}

/** Share of the job's dominant resource; without any use, of the resource that a task demands most. */
function shareOf(used: Amounts, demand: Amounts, { resources, whole, due }: Facts): string {
  const of = dominantShare(used, whole) > 0 ? used : demand;
  let most = -1;
  for (let r = 0; r < whole.length; r++) {
    if (!isCounted(whole[r]!)) continue;
    if (most < 0 || (of[r] ?? 0) / whole[r]! > (of[most] ?? 0) / whole[most]!) most = r;
  }
  if (most < 0) return 'there is nothing to share';
  const percent = (amount: number) => `${Number(((100 * amount) / whole[most]!).toPrecision(2))}%`;
  return `its job has ${percent(used[most]!)} of ${resources[most]}, and ${percent(due[most]!)} is its fair share`;
}

function explainLeftover(leftover: Leftover): string {
  switch (leftover.kind) {
    case 'srtf':
      return 'free resources go first to jobs with less remaining work';
    case 'sjf':
      return 'free resources go first to jobs with shorter paths';
    case 'drf':
      return 'free resources go first to the smallest share';
    case 'drf-strict':
      return 'no job gets more than its share';
    case 'score':
      return leftover.workWeight > 0
        ? 'free resources go to the tasks that fit best, and to jobs with less remaining work'
        : 'free resources go to the tasks that fit best';
    case 'none':
      return 'no other job gets free resources';
  }
}
