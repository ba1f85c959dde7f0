import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const GOSHAWK = fileURLToPath(new URL('../../../packages/cli/bin/goshawk.js', import.meta.url));

/** One of Goshawk's processes, as real as it gets. */
export interface Daemon {
  readonly endpoint: string;
  /** Ends it as a crash would, and returns when it is gone. */
  kill(): Promise<void>;
}

/**
 * Starts a daemon and waits until it is up. It ends with this process.
 *
 * @param args of the command, such as `['scheduler', '--name', 's0']`
 * @param logs a folder; the log of each name goes on where it was
 */
export async function startDaemon(name: string, args: readonly string[], logs: string): Promise<Daemon> {
  mkdirSync(logs, { recursive: true });
  const log = openSync(join(logs, `${name}.log`), 'a');
  const child = spawn(process.execPath, [GOSHAWK, ...args, '--json', '--with-parent'], {
    stdio: ['pipe', 'pipe', log],
  });
  closeSync(log);
  const gone = once(child, 'exit');
  const { endpoint } = await firstLine(child, gone, name);
  return {
    endpoint,
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

function firstLine(child: ChildProcess, gone: Promise<unknown>, name: string): Promise<{ endpoint: string }> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(JSON.parse(line)));
    void gone.then(() => reject(new Error(`${name} did not start; its log says why`)));
  });
}

/** A cluster of one central, a few workers, and schedulers that the caller starts and kills. */
export class Cluster {
  readonly folder: string;
  readonly #central: Daemon;
  readonly #daemons: Daemon[];

  private constructor(folder: string, central: Daemon, workers: Daemon) {
    this.folder = folder;
    this.#central = central;
    this.#daemons = [workers, central];
  }

  /** @param folder for logs and journals */
  static async start(folder: string, workers = 4): Promise<Cluster> {
    const logs = join(folder, 'logs');
    const central = await startDaemon('central', ['central', '--bind', 'tcp://127.0.0.1:0'], logs);
    const args = ['worker', '--central-url', central.endpoint, '--name', 'w', '--workers', `${workers}`];
    args.push('--slots', '4', '--data-folder', join(folder, 'workers'));
    return new Cluster(folder, central, await startDaemon('workers', args, logs));
  }

  get url(): string {
    return this.#central.endpoint;
  }

  /** @param withJournal its jobs survive it; otherwise they are kept in memory alone */
  async startScheduler(name: string, withJournal = true): Promise<Daemon> {
    const args = ['scheduler', '--central-url', this.url, '--name', name];
    if (withJournal) args.push('--data-folder', join(this.folder, name));
    const scheduler = await startDaemon(name, args, join(this.folder, 'logs'));
    this.#daemons.unshift(scheduler);
    return scheduler;
  }

  async stop(): Promise<void> {
    for (const daemon of this.#daemons.splice(0)) await daemon.kill();
  }
}
