import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { type Daemon, startDaemon } from '../daemons.js';

interface Shape {
  readonly schedulers: number;
  readonly workers: number;
  readonly workersPerProcess: number;
  readonly slots: number;
}

/** A cluster of real processes whose schedulers share a journal in PostgreSQL, and each may be killed or stopped. */
export class SharedCluster {
  readonly #folder: string;
  readonly #journal: string;
  readonly #central: Daemon;
  readonly #workers: Daemon[] = [];
  readonly schedulers = new Map<string, Daemon>();
  /** Those that nobody had killed, by their names: under much load one may miss its lease, and is taken over. */
  readonly endedByThemselves: string[] = [];
  /** Of those that are meant to end. */
  readonly #expected = new Set<Daemon>();
  #isStopping = false;

  private constructor(folder: string, journal: string, central: Daemon) {
    this.#folder = folder;
    this.#journal = journal;
    this.#central = central;
  }

  /** @param journal URL of a database, in which the tables are made */
  static async start(folder: string, journal: string, shape: Shape): Promise<SharedCluster> {
    await (await inPostgres()).initStore(journal);
    const central = await startDaemon(
      'central',
      ['central', '--bind', 'tcp://127.0.0.1:0', '--cutoff', '60'],
      join(folder, 'logs'),
    );
    const cluster = new SharedCluster(folder, journal, central);
    const { schedulers, workers, workersPerProcess, slots } = shape;
    for (let first = 0; first < workers; first += workersPerProcess) {
      const numbers = ['--numbered', '--workers', `${workersPerProcess}`, '--first-number', `${first}`];
      const place = ['--data-folder', join(folder, `w${first}`), '--memory-shares', `${workers}`];
      const args = ['worker', '--central-url', central.endpoint, '--name', 'w', '--slots', `${slots}`];
      cluster.#workers.push(
        await startDaemon(`w${first}`, [...args, ...numbers, ...place], join(folder, 'logs')),
      );
    }
    for (let i = 0; i < schedulers; i++) await cluster.startScheduler(`s${i}`);
    await cluster.#joined(shape);
    return cluster;
  }

  get url(): string {
    return this.#central.endpoint;
  }

  async startScheduler(name: string): Promise<Daemon> {
    const args = ['scheduler', '--central-url', this.url, '--name', name, '--bind', 'tcp://127.0.0.1:0'];
    const environment = { ...process.env, GOSHAWK_JOURNAL: this.#journal };
    const daemon = await startDaemon(name, args, join(this.#folder, 'logs'), environment);
    this.schedulers.set(name, daemon);
    void daemon.ended.then(() => {
      if (this.#isStopping || this.#expected.has(daemon)) return;
      this.endedByThemselves.push(name);
      // As whoever supervises it would.
      void this.startScheduler(name);
    });
    return daemon;
  }

  /** It is about to end, and is not to be started again for that. */
  expectEnd(name: string): Daemon {
    const daemon = this.schedulers.get(name)!;
    this.#expected.add(daemon);
    return daemon;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const all = [...this.schedulers.values(), ...this.#workers, this.#central];
    await Promise.all(all.map((daemon) => daemon.kill()));
  }

  async #joined({ schedulers, workers }: Shape): Promise<void> {
    await using client = await connect(this.url);
    for (;;) {
      const seen = await client.describe();
      if (seen.workers.length >= workers && seen.schedulers.length >= schedulers) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
