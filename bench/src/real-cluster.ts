import { writeFileSync } from 'node:fs';
import { type Daemon, Daemons, WITH_HTTP } from './daemons.js';

export interface Target {
  readonly role: 'central' | 'scheduler' | 'worker';
  readonly daemon: Daemon;
  readonly endpoint: string;
  /** The port of its HTTP server. */
  readonly httpPort: number;
  hasEnded: boolean;
}

/** Tests run on loopback and need no access control. */
const HTTP_TOKEN = 'token-of-a-bench-cluster';

/** A cluster of real processes, with keys or without: central, a scheduler and two workers, each with an HTTP server. */
export class RealCluster {
  readonly daemons: Daemons;
  readonly targets: Target[] = [];

  constructor(folder: string) {
    this.daemons = new Daemons(folder);
  }

  /**
   * @param keys folder of its keys
   * @param heapMebibytes that each process may have; Node's own default otherwise
   */
  async start(options: {
    readonly keys?: string | undefined;
    readonly schedulerArgs?: readonly string[];
    readonly heapMebibytes?: number;
  }): Promise<void> {
    const { daemons } = this;
    const { keys, schedulerArgs = [], heapMebibytes } = options;
    const args: string[] = [...WITH_HTTP];
    if (keys !== undefined) {
      // A process with keys shows its metrics only with a token.
      const tokenFile = `${keys}.http-token`;
      writeFileSync(tokenFile, HTTP_TOKEN, { mode: 0o600 });
      args.push('--keys', keys, '--http-token-file', tokenFile);
    }
    // The environment excludes the user's settings.
    const environment = { HOME: daemons.folder };
    const nodeArgs = heapMebibytes === undefined ? [] : [`--max-old-space-size=${heapMebibytes}`];
    const how = [environment, nodeArgs] as const;
    await this.#add('central', await daemons.startCentral(args, ...how));
    await this.#add(
      'scheduler',
      await daemons.startScheduler('scheduler', [...args, ...schedulerArgs], ...how),
    );
    const size = ['--workers', '2', '--cpus', '2'];
    await this.#add('worker', await daemons.startWorker('worker', [...args, ...size], ...how));
  }

  get url(): string {
    return this.daemons.url;
  }

  /** Returns the error lines of all processes. */
  errors(): string[] {
    return this.targets.flatMap(({ role }) =>
      this.daemons
        .logOf(role)
        .split('\n')
        .filter((line) => /"level":(50|60)|"schema":"goshawk.error/.test(line))
        .map((line) => `${role}: ${line}`),
    );
  }

  async #add(role: Target['role'], daemon: Daemon): Promise<void> {
    const { port } = new URL(await this.daemons.httpAddressOf(role));
    const target = { role, daemon, endpoint: daemon.endpoint, httpPort: Number(port), hasEnded: false };
    void daemon.ended.then(() => {
      target.hasEnded = true;
    });
    this.targets.push(target);
  }
}

/** Returns the metrics that a process exposes at `/metrics`, by name and labels. */
export async function metricsOf(httpPort: number): Promise<Map<string, number>> {
  const headers = { authorization: `Bearer ${HTTP_TOKEN}` };
  const response = await fetch(`http://127.0.0.1:${httpPort}/metrics`, { headers });
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}
