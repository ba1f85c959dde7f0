import { counted, formatCount, formatDuration, type Millis, type PolicySettings } from '@goshawk/core';
import type { PolicyRun } from './contract.js';
import type { ReplayPlan } from './plan.js';
import type { Progress } from './submitter.js';

/** Describes how the workload was fitted to the cluster. */
export function scaleLine({ fit }: ReplayPlan): string {
  const tasks =
    fit.taskFactor < 1
      ? `; jobs have 1/${number(1 / fit.taskFactor)} of their tasks, each ${number(1 / fit.taskFactor)} times as long`
      : '';
  return `durations divided by ${number(fit.divisor)}${tasks}`;
}

/** Returns lines that describe the planned runs. */
export function planLines(
  plan: ReplayPlan,
  { load, workers }: { readonly load: number; readonly workers: number },
  { policy, preset, cutoffMs, shortPartition }: PolicySettings,
): string[] {
  const { workload, fit, jobs, facts } = plan;
  const count =
    fit.workloadJobs > workload.jobs
      ? `${formatCount(workload.jobs)} of ${counted(fit.workloadJobs, 'job')}`
      : counted(workload.jobs, 'job');
  const long = jobs.filter((job) => job.trueMeanMs >= cutoffMs).length;
  const shortWork = percent(facts.shareBelow(cutoffMs));
  const lines = [
    `${workload.name}: ${count} with ${counted(workload.tasks, 'task')}`,
    scaleLine(plan),
    `submitted over ${formatDuration(fit.spanMs)} for a load of ${percent(load)}; ` +
      `a policy takes about ${formatDuration(fit.estimatedRunMs)}`,
    `${formatCount(jobs.length - long)} short jobs (mean task below ${formatDuration(cutoffMs)}, ` +
      `${shortWork} of the work), ${formatCount(long)} long ones`,
  ];
  if (preset.partition && typeof shortPartition === 'number') {
    const kept = Math.round(shortPartition * workers);
    lines.push(`${policy} keeps ${kept} of ${formatCount(workers)} workers free of long tasks`);
  }
  return lines;
}

/** A cutoff misfits if it makes this many times more, or fewer, jobs long than the workload's own cutoff. */
const MISFIT_RATIO = 3;

/**
 * Warns if the cluster's cutoff makes many more or many fewer jobs long than the workload's own cutoff. A
 * replay on separate clusters uses the workload's cutoff, so the results are not comparable with it.
 */
export function misfitLines({ jobs, facts }: ReplayPlan, { cutoffMs }: PolicySettings): string[] {
  const longFrom = (fromMs: Millis) => jobs.filter((job) => job.trueMeanMs >= fromMs).length;
  const [here, fitting] = [longFrom(cutoffMs), longFrom(facts.meanP90Ms)];
  if (here * MISFIT_RATIO >= fitting && here <= fitting * MISFIT_RATIO) return [];
  const cutoff = formatDuration(cutoffMs);
  const which =
    here === 0
      ? 'exceeds the mean task time of every job'
      : `makes ${formatCount(here)} of ${formatCount(jobs.length)} jobs long`;
  return [
    `the cluster’s cutoff of ${cutoff} ${which}; that of the workload, ${formatDuration(facts.meanP90Ms)}, would make ${formatCount(fitting)} long. ` +
      `Times of short and long jobs are not comparable with a replay on separate clusters; ` +
      `use a cluster with --cutoff ${Number((facts.meanP90Ms / 1_000).toPrecision(2))}`,
  ];
}

/** Text beside the progress bar. */
export function progressNote(
  { elapsedMs, submitted, ended, submittedTaskMs }: Progress,
  { jobs, fit }: ReplayPlan,
  totalSlots: number,
): string {
  if (ended === jobs.length) return formatDuration(elapsedMs);
  const left = timeLeft(fit.estimatedRunMs - elapsedMs);
  if (submitted === jobs.length) return `all submitted, ${left}`;
  if (elapsedMs < LOAD_STABLE_AFTER_MS) return left;
  return `load so far ${percent(submittedTaskMs / (elapsedMs * totalSlots))}, ${left}`;
}

function timeLeft(ms: Millis): string {
  if (ms > 0) return `about ${seconds(ms)} left`;
  return ms > -OVERDUE_MS ? 'almost done' : `${seconds(-ms)} longer than estimated`;
}

/** Before this time, a single large job can dominate the measured load. */
const LOAD_STABLE_AFTER_MS = 1_000;
const OVERDUE_MS = 2_000;

/** Returns lines with the duration and offered load of a run, and with problems of its measurement. */
export function runLines({ run, loadOffered, latenessP99Ms, incomplete }: PolicyRun): string[] {
  const lines = [
    `${run.policy}: ${formatDuration(run.wallSeconds * 1_000)}, offered load ${percent(loadOffered)}`,
  ];
  if (latenessP99Ms > LATENESS_NOTABLE_MS) {
    lines.push(
      `  this client fell behind: 1% of the jobs were submitted at least ${formatDuration(latenessP99Ms)} late; ` +
        'the machine is too busy for a good measurement',
    );
  }
  if (incomplete.length > 0) {
    const [first] = incomplete;
    const others = incomplete.length > 1 ? ` and ${incomplete.length - 1} more` : '';
    lines.push(`  messages and steals of ${first}${others} are missing or incomplete`);
  }
  return lines;
}

/** Tasks may run for only milliseconds, so a client that submits later than this distorts the results. */
const LATENESS_NOTABLE_MS = 20;

function number(value: number): string {
  return value >= 100 ? formatCount(Math.round(value)) : String(Number(value.toPrecision(3)));
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))}%`;
}

function seconds(ms: Millis): string {
  return formatDuration(Math.ceil(ms / 1_000) * 1_000);
}
