import { formatDuration, type Millis, type PolicySettings } from '@goshawk/core';
import type { ReplayPlan } from './plan.js';
import type { PolicyRun } from './run-policy.js';
import type { Progress } from './submitter.js';

/** What is going to be run, in lines for people. */
export function planLines(plan: ReplayPlan, load: number): string[] {
  const { workload, fit } = plan;
  const drawn = fit.workloadJobs > workload.jobs ? ` of ${count(fit.workloadJobs)}` : '';
  const tasks = fit.taskFactor < 1 ? `, tasks ÷ ${number(1 / fit.taskFactor)} (each so much longer)` : '';
  return [
    `${workload.name}: ${count(workload.jobs)}${drawn} jobs with ${count(workload.tasks)} tasks`,
    `durations ÷ ${number(fit.divisor)}${tasks}; submitted over ${formatDuration(fit.spanMs)} for a load of ` +
      `${percent(load)}; a policy takes about ${formatDuration(fit.estimatedRunMs)}`,
  ];
}

/** How the jobs are divided under the settings. */
export function divisionLine(plan: ReplayPlan, settings: PolicySettings, workers: number): string {
  const { cutoffMs, preset, shortPartition } = settings;
  const long = plan.jobs.filter((job) => job.trueMeanMs >= cutoffMs).length;
  const shortShare = percent(plan.facts.shareBelow(cutoffMs));
  const partition =
    preset.partition && typeof shortPartition === 'number'
      ? `; ${settings.policy} keeps ${Math.round(shortPartition * workers)} of ${count(workers)} workers for them`
      : '';
  return (
    `${count(plan.jobs.length - long)} short jobs below a mean task of ${formatDuration(cutoffMs)} with ` +
    `${shortShare} of the work${partition}; ${count(long)} long ones`
  );
}

/** Beside the bar. */
export function progressNote(
  { elapsedMs, submitted, ended, submittedTaskMs }: Progress,
  { jobs, fit }: ReplayPlan,
  totalSlots: number,
): string {
  const leftMs = fit.estimatedRunMs - elapsedMs;
  const left =
    ended === jobs.length
      ? formatDuration(elapsedMs)
      : leftMs > 0
        ? `about ${seconds(leftMs)} left`
        : 'almost done';
  if (submitted === jobs.length) return `all submitted, ${left}`;
  const load = elapsedMs > 1_000 ? `load ${percent(submittedTaskMs / (elapsedMs * totalSlots))}, ` : '';
  return `${load}${left}`;
}

/** What is worth knowing of how a run went, beside its results. */
export function runLines({ run, loadOffered, latenessP99Ms, incomplete }: PolicyRun): string[] {
  const lines = [
    `${run.policy}: ${formatDuration(run.wallSeconds * 1_000)}, load really offered ${percent(loadOffered)}`,
  ];
  if (latenessP99Ms > LATENESS_NOTABLE_MS) {
    lines.push(
      `  this client was late: 1% of the jobs left ${formatDuration(latenessP99Ms)} or more after their time; ` +
        'the machine is too busy for a good measurement',
    );
  }
  if (incomplete.length > 0) {
    const [first] = incomplete;
    const others = incomplete.length > 1 ? ` and ${incomplete.length - 1} others` : '';
    lines.push(`  messages and steals of ${first}${others} are missing or not all there`);
  }
  return lines;
}

/** Run times are milliseconds; a client that is later than this by itself spoils them. */
const LATENESS_NOTABLE_MS = 20;

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function number(value: number): string {
  return value >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))}%`;
}

function seconds(ms: Millis): string {
  return formatDuration(Math.ceil(ms / 1_000) * 1_000);
}
