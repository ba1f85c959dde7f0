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
  /** Id of the job that the incident affects, for the `JOB` of its command. */
  job?(): string;
}

/** An answer to a command of the user or the operator. */
interface Answer {
  /** `JOB` is replaced by the id of the affected job. */
  readonly command: readonly string[];
  readonly says: RegExp;
  /** The scheduler to ask beside central. */
  readonly via?: string;
  /** It is about what has happened, so it does not end. */
  readonly stays?: true;
}

/** An incident, and how an operator learns what it is, and that it is over. */
export interface Incident {
  readonly name: string;
  /** The name of a rule in `deploy/monitoring/alerts.yml`, which fires within two minutes. */
  readonly alert: string;
  /** The rule is about the last minutes, so it ends later than the incident. `alerts.test.yml` tests its end. */
  readonly lingers?: true;
  /** A line of the logs that names the cause. */
  readonly log: RegExp;
  /** An event of `goshawk events`; undefined: nothing happens to a member, a journal or a limit. */
  readonly event?: RegExp;
  /** Answer of `why` or of the refused command; undefined: nothing waits and nothing is refused. */
  readonly answer?: Answer;
  /** Answers of `/readyz` of these processes; that of all others is `ready`. */
  readonly unready?: Readonly<Record<string, RegExp>>;
  /** The command that ends the incident, as documented for the alert in docs/MONITORING.md. */
  readonly runbook: string;
  /** Needs besides Prometheus. */
  readonly needs?: 'mount' | 'postgres' | 'prlimit' | 'strace';
  /** The long test plays it; `npm run bench -- incidents` plays all. */
  readonly isTested?: true;
  /** Builds the cluster in which the incident happens. */
  build(site: IncidentCluster): Promise<IncidentSteps>;
}

export interface IncidentResult {
  readonly name: string;
  /** Time between the incident and the last sign of it; undefined: some are missing. */
  readonly noticedMs: Millis | undefined;
  /** Time between the runbook's command and the end of the last sign. */
  readonly endMs: Millis | undefined;
  /** Signs that were seen. */
  readonly signs: Readonly<Record<string, string>>;
  /** Signs that did not appear, or did not end. */
  readonly missing: readonly string[];
  /** Other alerts that fired by then. */
  readonly others: readonly string[];
}

const WITHIN_MS = 120_000;

/**
 * Causes an incident in a dedicated cluster, waits for all signs of it, carries out the runbook, and waits for their end.
 */
export async function play(
  incident: Incident,
  site: IncidentCluster,
  note: (line: string) => void = () => {},
): Promise<IncidentResult> {
  const { name, alert } = incident;
  const steps = await incident.build(site);
  await site.watch(steps.processes);
  const signs = new Signs(incident, site, () => steps.job?.() ?? '');
  note(`${name}: begins`);
  const noticedMs = await within(steps.make, () => signs.haveBegun());
  note(
    `${name}: ${noticedMs === undefined ? `not noticed: ${signs.missing}` : `noticed after ${seconds(noticedMs)}`}`,
  );
  const others = [...(await site.alerts.firing())].filter((each) => each !== alert).sort();
  const endMs = noticedMs === undefined ? undefined : await within(steps.end, () => signs.haveEnded());
  if (noticedMs !== undefined)
    note(
      `${name}: ${endMs === undefined ? `did not end: ${signs.missing}` : `ended after ${seconds(endMs)}`}`,
    );
  return { name, noticedMs, endMs, signs: signs.seen, missing: signs.missing, others };
}

function seconds(ms: Millis): string {
  return `${Math.round(ms / 1_000)} s`;
}

/** The signs of one incident. */
class Signs {
  readonly #incident: Incident;
  readonly #site: IncidentCluster;
  readonly #job: () => string;
  seen: Record<string, string> = {};
  missing: string[] = [];

  constructor(incident: Incident, site: IncidentCluster, job: () => string) {
    this.#incident = incident;
    this.#site = site;
    this.#job = job;
  }

  /** Checks commands only when all else is there, because they start a process. */
  async haveBegun(): Promise<boolean> {
    const { alert, log, answer, unready = {} } = this.#incident;
    this.missing = [];
    this.#note('alert', (await this.#site.alerts.firing()).has(alert) ? alert : undefined);
    this.#note('log', this.#site.logged(log)[0]);
    const ready = await this.#site.readiness();
    const wrong = Object.entries(ready).filter(([name, text]) => !(unready[name] ?? /^ready$/).test(text));
    const said = Object.keys(unready).map((name) => `${name}: ${ready[name]}`);
    this.#note('readyz', wrong.length === 0 ? said.join('; ') || 'ready' : undefined, wrong.join('; '));
    if (answer !== undefined && this.missing.length === 0) await this.#ask(answer);
    return this.missing.length === 0;
  }

  async haveEnded(): Promise<boolean> {
    const { alert, lingers, event, answer } = this.#incident;
    this.missing = [];
    if (lingers !== true && (await this.#site.alerts.firing()).has(alert))
      this.missing.push('end of the alert');
    const ready = Object.entries(await this.#site.readiness()).filter(([, text]) => text !== 'ready');
    if (ready.length > 0) this.missing.push(`readyz: ${ready.join('; ')}`);
    if (event !== undefined)
      this.#note(
        'event',
        (await this.#site.events()).find((text) => event.test(text)),
      );
    if (
      answer !== undefined &&
      answer.stays !== true &&
      this.missing.length === 0 &&
      answer.says.test(await this.#run(answer))
    )
      this.missing.push('end of the answer');
    return this.missing.length === 0;
  }

  async #ask(answer: Answer): Promise<void> {
    const text = await this.#run(answer);
    this.#note('answer', answer.says.exec(text)?.[0], text);
  }

  #run({ command, via }: Answer): Promise<string> {
    return this.#site.answer(
      command.map((word) => (word === 'JOB' ? this.#job() : word)),
      via,
    );
  }

  #note(sign: string, found: string | undefined, instead = ''): void {
    if (found === undefined) this.missing.push(instead === '' ? sign : `${sign}: ${instead}`);
    else this.seen[sign] ??= found;
  }
}

/** @returns the time after `act` begins at which it is so; undefined: never within two minutes */
async function within(act: () => unknown, isSo: () => Promise<boolean>): Promise<Millis | undefined> {
  const since = performance.now();
  await act();
  while (performance.now() < since + WITHIN_MS) {
    if (await isSo().catch(() => false)) return performance.now() - since;
    await pause(500);
  }
  return undefined;
}
