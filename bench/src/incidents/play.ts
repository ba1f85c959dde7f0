import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '@goshawk/core';
import type { IncidentCluster } from './site.js';

/** Steps of an incident, run against an existing cluster. */
interface IncidentSteps {
  /** The number of processes before the incident. */
  readonly processes: number;
  /** Causes the incident. */
  make(): unknown;
  /** Carries out the runbook. */
  end(): unknown;
  /**
   * Returns when the incident is over; default: when the alert ends. Alerts about the last minutes end later than that.
   */
  isOver?(): unknown;
}

/** An incident that pages an operator. */
export interface Incident {
  readonly name: string;
  /** The name of a rule in `deploy/monitoring/alerts.yml`, which fires within two minutes. */
  readonly alert: string;
  /** A line of the logs that names the cause. */
  readonly cause: RegExp;
  /** The command that ends the incident, as documented for the alert in docs/MONITORING.md. */
  readonly runbook: string;
  /** Builds the cluster in which the incident happens. */
  build(site: IncidentCluster): Promise<IncidentSteps>;
}

export interface IncidentResult {
  readonly name: string;
  readonly alert: string;
  /** Time between the incident and the alert. */
  readonly alertMs: Millis | undefined;
  /** Other alerts that fired by then. */
  readonly others: readonly string[];
  readonly cause: string | undefined;
  readonly runbook: string;
  /** Time between the runbook's command and the end of the alert. */
  readonly endMs: Millis | undefined;
}

const FIRES_WITHIN_MS = 120_000;
const ENDS_WITHIN_MS = 120_000;

/**
 * Causes an incident in a dedicated cluster, waits for its alert, carries out the runbook, and waits for the end of the
 * alert.
 */
export async function play(
  { name, alert, cause, runbook, build }: Incident,
  site: IncidentCluster,
  note: (line: string) => void = () => {},
): Promise<IncidentResult> {
  const { processes, make, end, isOver } = await build(site);
  await site.watch(processes);
  note(`${name}: begins`);
  const madeAt = performance.now();
  await make();
  let others: string[] = [];
  const alertMs = await within(FIRES_WITHIN_MS - (performance.now() - madeAt), madeAt, async () => {
    const firing = await site.alerts.firing();
    others = [...firing].filter((each) => each !== alert).sort();
    return firing.has(alert) && site.logged(cause).length > 0;
  });
  note(`${name}: ${alertMs === undefined ? 'no alert' : `alert after ${Math.round(alertMs / 1_000)} s`}`);
  const line = site.logged(cause)[0];
  const base = { name, alert, alertMs, others, cause: line, runbook };
  if (alertMs === undefined) return { ...base, endMs: undefined };
  const endedAt = performance.now();
  await end();
  const endMs = await within(ENDS_WITHIN_MS, endedAt, async () => {
    if (isOver === undefined) return !(await site.alerts.firing()).has(alert);
    await isOver();
    return true;
  });
  note(`${name}: ${endMs === undefined ? 'did not end' : `ended after ${Math.round(endMs / 1_000)} s`}`);
  return { ...base, endMs };
}

async function within(ms: Millis, since: Millis, isSo: () => Promise<boolean>): Promise<Millis | undefined> {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    if (await isSo().catch(() => false)) return performance.now() - since;
    await pause(250);
  }
  return undefined;
}
