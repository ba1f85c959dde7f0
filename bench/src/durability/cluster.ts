import { join } from 'node:path';
import { ANY_PORT, type Daemon, type Daemons } from '../daemons.js';

/** A cluster of one central, a few workers, and schedulers that the caller starts and kills. */
export class Cluster {
  readonly url: string;
  readonly #daemons: Daemons;

  private constructor(daemons: Daemons, url: string) {
    this.#daemons = daemons;
    this.url = url;
  }

  static async start(daemons: Daemons, workers = 4): Promise<Cluster> {
    const { endpoint } = await daemons.start('central', ['central', ...ANY_PORT]);
    const size = [
      '--workers',
      `${workers}`,
      '--slots',
      '4',
      '--data-folder',
      join(daemons.folder, 'workers'),
    ];
    await daemons.start('workers', ['worker', '--central-url', endpoint, '--name', 'w', ...size]);
    return new Cluster(daemons, endpoint);
  }

  /** @param withJournal its jobs survive it; otherwise they are kept in memory alone */
  startScheduler(name: string, withJournal = true): Promise<Daemon> {
    const journal = withJournal ? ['--data-folder', join(this.#daemons.folder, name)] : [];
    return this.#daemons.start(name, ['scheduler', '--central-url', this.url, '--name', name, ...journal]);
  }
}
