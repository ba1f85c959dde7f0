import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort, leaveOut } from '@goshawk/journal/testing';

const PROGRAM = process.env.GOSHAWK_PROMETHEUS ?? '/usr/bin/prometheus';
const RULES = fileURLToPath(new URL('../../../deploy/monitoring/alerts.yml', import.meta.url));

/** Scrapes and evaluations are more frequent than in deploy/monitoring; the rules, with their `for`, are the same. */
const INTERVAL = '2s';

export function isPrometheusThere(): boolean {
  const isThere = existsSync(PROGRAM);
  if (!isThere)
    leaveOut('prometheus', 'there is no Prometheus on this machine (apt-get install prometheus)', 'alerts');
  return isThere;
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

/** A real Prometheus with the project's rules. It discovers the processes of one cluster through central. */
export class Prometheus {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  /**
   * @param door URL of central's HTTP server
   * @param tokenFile of a cluster with keys
   */
  static async start(folder: string, door: string, tokenFile?: string): Promise<Prometheus> {
    mkdirSync(folder, { recursive: true });
    const authorization =
      tokenFile === undefined ? undefined : { type: 'Bearer', credentials_file: tokenFile };
    const config = {
      global: { scrape_interval: INTERVAL, scrape_timeout: '1500ms', evaluation_interval: INTERVAL },
      rule_files: [RULES],
      scrape_configs: [
        {
          job_name: 'goshawk',
          ...(authorization && { authorization }),
          http_sd_configs: [
            { url: `${door}/targets`, refresh_interval: INTERVAL, ...(authorization && { authorization }) },
          ],
        },
      ],
    };
    const file = join(folder, 'prometheus.yml');
    writeFileSync(file, JSON.stringify(config));
    const port = await freePort();
    const child = spawn(
      PROGRAM,
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=warn',
      ],
      { stdio: 'ignore', env: { ...process.env, GOMAXPROCS: '1' } },
    );
    const prometheus = new Prometheus(child, `http://127.0.0.1:${port}/api/v1`);
    while ((await prometheus.#ask('status/config').catch(() => undefined)) === undefined) {
      if (child.exitCode !== null) throw new Error(`prometheus exited with ${child.exitCode}`);
      await pause(50);
    }
    return prometheus;
  }

  async #ask<T>(path: string): Promise<T> {
    const response = await fetch(`${this.#url}/${path}`);
    const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`prometheus: ${error}`);
    return data;
  }

  /** Names of the firing alerts. */
  async firing(): Promise<Set<string>> {
    const { alerts } = await this.#ask<{ alerts: readonly Alert[] }>('alerts');
    return new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname!));
  }

  /** Number of targets whose last scrape succeeded. */
  async targetsUp(): Promise<number> {
    const { activeTargets } = await this.#ask<{ activeTargets: readonly { health: string }[] }>('targets');
    return activeTargets.filter(({ health }) => health === 'up').length;
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}
