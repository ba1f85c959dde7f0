import { join } from 'node:path';
import { type Daemon, startDaemon } from '../daemons.js';

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
