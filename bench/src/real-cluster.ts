import { join } from 'node:path';
import { type Daemon, startDaemonWithHttp } from '@goshawk/cli/testing';

export interface Target {
  readonly role: 'central' | 'scheduler' | 'worker';
  readonly daemon: Daemon;
  readonly endpoint: string;
  /** Of its HTTP server. */
  readonly httpPort: number;
  hasEnded: boolean;
}

/** A cluster of real processes, with keys or without: central, a scheduler and two workers. */
export class RealCluster {
  readonly #folder: string;
  readonly #keys: string | undefined;
  readonly #schedulerArgs: readonly string[];
  readonly #heapMebibytes: number | undefined;
  readonly targets: Target[] = [];

  /**
   * @param keys folder of its keys
   * @param heapMebibytes that each process may have; Node's own default otherwise
   */
  constructor(
    folder: string,
    keys: string | undefined,
    schedulerArgs: readonly string[] = [],
    heapMebibytes?: number,
  ) {
    this.#folder = folder;
    this.#keys = keys;
    this.#schedulerArgs = schedulerArgs;
    this.#heapMebibytes = heapMebibytes;
  }

  async start(): Promise<void> {
    const central = await this.#spawn('central', []);
    const at = ['--central-url', central.endpoint];
    await this.#spawn('scheduler', [
      ...at,
      '--name',
      's',
      '--data-folder',
      join(this.#folder, 's'),
      ...this.#schedulerArgs,
    ]);
    const workers = [
      '--workers',
      '2',
      '--slots',
      '2',
      '--name',
      'w',
      '--data-folder',
      join(this.#folder, 'w'),
    ];
    await this.#spawn('worker', [...at, ...workers]);
  }

  get url(): string {
    return this.targets[0]!.endpoint;
  }

  stop(): void {
    for (const { daemon } of this.targets) daemon.signal('SIGKILL');
  }

  async #spawn(role: Target['role'], args: readonly string[]): Promise<Target> {
    const keyArgs = this.#keys === undefined ? [] : ['--keys', this.#keys];
    const heap = this.#heapMebibytes;
    const daemon = await startDaemonWithHttp([role, ...args, ...keyArgs, '--bind', 'tcp://127.0.0.1:0'], {
      environment: { PATH: process.env.PATH, HOME: this.#folder },
      nodeArgs: heap === undefined ? [] : [`--max-old-space-size=${heap}`],
      onLine: (line) => {
        if (/"level":(50|60)|"schema":"goshawk.error/.test(line)) process.stderr.write(`${role}: ${line}\n`);
      },
    });
    const target: Target = {
      role,
      daemon,
      endpoint: daemon.endpoint,
      httpPort: Number(new URL(daemon.url).port),
      hasEnded: false,
    };
    void daemon.ended.then(() => {
      target.hasEnded = true;
    });
    this.targets.push(target);
    return target;
  }
}

/** What a process says of itself at `/metrics`, by name and labels. */
export async function metricsOf({ httpPort }: Target): Promise<Map<string, number>> {
  const response = await fetch(`http://127.0.0.1:${httpPort}/metrics`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}
