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
  if (plan?.isAltruistic === true) parts.push(whatMust(plan.firstStart(place), plan.endAt, facts.now));
  parts.push(shareOf(job.used, view.demand, facts), whoIsNext(facts.leftover));
  if (facts.others > 0)
    parts.push(`${facts.others === 1 ? '1 other job waits' : `${facts.others} other jobs wait`}`);
  return { reason: facts.hasRoom ? 'matching' : 'resources', sentence: parts.join('; ') };
}

function whatMust(startAt: Millis, endAt: Millis, now: Millis): string {
  const end = `its job has to end within ${formatDuration(Math.max(0, Math.round(endAt - now)))}, as its share alone would have it end`;
  if (startAt === Number.POSITIVE_INFINITY) return end;
  if (startAt <= now) return `${end}, and for that it has to start now`;
  return `${end}, and for that it need not start for ${formatDuration(Math.round(startAt - now))}`;
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

function whoIsNext(leftover: Leftover): string {
  switch (leftover.kind) {
    case 'srtf':
      return 'what is free goes to jobs with less work left first';
    case 'sjf':
      return 'what is free goes to jobs with shorter paths first';
    case 'drf':
      return 'what is free goes to the smallest share first';
    case 'drf-strict':
      return 'nobody gets more than its share';
    case 'score':
      return leftover.workWeight > 0
        ? 'what is free goes to what fits best, and to jobs with less work left'
        : 'what is free goes to what fits best';
    case 'none':
      return 'what is free goes to nobody else';
  }
}
