import type { Millis } from '../ids.js';
import { attributesByName } from '../needs/attributes.js';
import { cutoffOrigin, type PolicySettings } from '../policy/settings.js';
import type { Output } from '../published.js';
import { deadlineSentence, deadlineStanding, latestStartOf } from './deadline-words.js';
import {
  type CentralLine,
  expectedWaitMs,
  type JobExplanation,
  type TaskStory,
  type WaitingGroup,
} from './explanation.js';
import { lendingJson, seconds, summaryJson } from './json.js';
import { isFinal } from './view.js';

/** `goshawk.waiting/1`: waiting tasks by reason. */
export function waitingJson({
  waiting,
  central,
  silent,
}: {
  readonly waiting: readonly WaitingGroup[];
  readonly central: CentralLine | undefined;
  readonly silent: readonly string[];
}): Output {
  return {
    schema: 'goshawk.waiting/1',
    waiting: waiting.map(({ exampleAgeMs, ...group }) => ({
      ...group,
      exampleAgeSeconds: seconds(exampleAgeMs),
    })),
    central: central === undefined ? null : lineJson(central),
    silent,
  };
}

/** The cutoff between short and long jobs, and its origin; null while central does not respond. */
export function cutoffJson(
  cutoff: Pick<PolicySettings, 'cutoffMs' | 'cutoffJobs'> | undefined,
): Record<string, unknown> {
  return {
    cutoffSeconds: seconds(cutoff?.cutoffMs),
    cutoffFrom: cutoff === undefined ? null : cutoffOrigin(cutoff),
  };
}

/** `goshawk.why/1`: why one job waits. Times are seconds since its acceptance; unknown values are null. */
export function whyJson(
  explained: JobExplanation & { readonly central: CentralLine | undefined },
  cutoff: Pick<PolicySettings, 'cutoffMs' | 'cutoffJobs'> | undefined,
  now: Millis,
): Output {
  const {
    job,
    sampling,
    waiting,
    probes,
    probesOut,
    probesMoved,
    matches,
    placed,
    waits,
    last,
    task,
    central,
  } = explained;
  return {
    schema: 'goshawk.why/1',
    ...summaryJson(job, now),
    ...cutoffJson(cutoff),
    pilots:
      sampling === undefined
        ? null
        : { tasks: sampling.pilotTasks, decidedSeconds: seconds(sampling.decidedMs) },
    waiting: waiting.map(({ index: _, waitedMs, requires, ...wait }) => ({
      ...wait,
      ...(requires === undefined ? {} : { requires: attributesByName(requires) }),
      waitedSeconds: seconds(waitedMs),
    })),
    line: central === undefined ? null : lineJson(central),
    probes: { out: probesOut, moved: probesMoved, workers: probes },
    matches,
    placed,
    waitSeconds:
      waits === undefined
        ? null
        : { tasks: waits.tasks, p50: seconds(waits.p50), p90: seconds(waits.p90), max: seconds(waits.max) },
    waited: (explained.waitSums ?? []).map(({ meanMs, maxMs, ...sum }) => ({
      ...sum,
      meanSeconds: seconds(meanMs),
      maxSeconds: seconds(maxMs),
    })),
    lostSeconds: seconds(explained.wastedMs),
    after: explained.after ?? [],
    deadline: deadlineJson(explained, now),
    last: last === undefined ? null : storyJson(last),
    ...(task === undefined ? {} : { task: storyJson(task) }),
  };
}

function deadlineJson(
  explained: JobExplanation & { readonly central: CentralLine | undefined },
  now: Millis,
): Record<string, unknown> | null {
  const sentence = deadlineSentence(explained, now);
  if (sentence === undefined) return null;
  const latest = isFinal(explained.job.state) ? undefined : latestStartOf(explained);
  const standing = deadlineStanding(explained.job, now);
  return {
    latestStartInSeconds: seconds(latest?.inMs),
    // An expected end decides, if there is one.
    canBeMet:
      latest === undefined
        ? null
        : standing === 'open'
          ? !latest.isTooLate
          : standing !== 'late' && standing !== 'missed',
    standing,
    sentence,
  };
}

function lineJson(line: CentralLine): Record<string, unknown> {
  const { needs, limited: _, ...standing } = line;
  return {
    ...standing,
    needs: needs.map((need) => ({
      stage: need.stage,
      kind: need.kind,
      tasks: need.tasks,
      waitedSeconds: seconds(need.waitedMs),
      ahead: { jobs: need.ahead.jobs, tasks: need.ahead.tasks, workSeconds: seconds(need.ahead.workMs) },
      expectedSeconds: seconds(expectedWaitMs(need, line)),
      startsInSeconds:
        need.starts === undefined
          ? null
          : {
              p10: seconds(need.starts.p10),
              p50: seconds(need.starts.p50),
              p90: seconds(need.starts.p90),
              waits: need.starts.waits,
            },
      kept: need.kept,
      why: need.why ?? null,
    })),
  };
}

function storyJson(told: TaskStory): Record<string, unknown> {
  const { waitedMs, ranMs, endedMs, pausedMs: _, lentTo: _to, borrowedFrom: _from, borrows, ...story } = told;
  return {
    ...story,
    reason: story.reason ?? null,
    worker: story.worker ?? null,
    waitedSeconds: seconds(waitedMs),
    ranSeconds: seconds(ranMs),
    endedSeconds: seconds(endedMs),
    error: story.error ?? null,
    ...lendingJson(told),
    borrows: borrows === true,
  };
}
