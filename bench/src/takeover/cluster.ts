import { connect } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { allJoined, type Daemon, Daemons } from '../daemons.js';

interface Shape {
  readonly schedulers: number;
  readonly workers: number;
  readonly workersPerProcess: number;
  readonly slots: number;
}

/** A cluster of real processes that can be killed and stopped, whose schedulers share a journal in PostgreSQL. */
export class SharedCluster {
  readonly #daemons: Daemons;
  readonly #journal: string;
  readonly schedulers = new Map<string, Daemon>();
  /**
   * Names of processes that ended without being killed. Under heavy load a scheduler may miss its lease and be taken
   * over.
   */
  readonly unexpectedExits: string[] = [];
  /** Daemons whose exit is intended. */
  readonly #expected = new Set<Daemon>();
  #isStopping = false;

  private constructor(daemons: Daemons, journal: string) {
    this.#daemons = daemons;
    this.#journal = journal;
  }

  get url(): string {
    return this.#daemons.url;
  }

  /** @param journal URL of a database, in which the tables are created */
  static async start(folder: string, journal: string, shape: Shape): Promise<SharedCluster> {
    const { schedulers, workers, slots } = shape;
    await (await inPostgres()).initStore(journal);
    const daemons = new Daemons(folder);
    await daemons.startCentral(['--cutoff', '60']);
    await daemons.startWorkers(shape, ['--cpus', `${slots}`]);
    const cluster = new SharedCluster(daemons, journal);
    for (let i = 0; i < schedulers; i++) await cluster.startScheduler(`s${i}`);
    await using client = await connect(cluster.url);
    await allJoined(client, workers, schedulers);
    return cluster;
  }

  async startScheduler(name: string): Promise<Daemon> {
    const args = ['scheduler', '--central-url', this.url, '--name', name];
    const daemon = await this.#daemons.start(name, args, { GOSHAWK_JOURNAL: this.#journal });
    this.schedulers.set(name, daemon);
    void daemon.ended.then(() => {
      if (this.#isStopping || this.#expected.has(daemon)) return;
      this.unexpectedExits.push(name);
      // Restarts it, like a supervisor.
      void this.startScheduler(name);
    });
    return daemon;
  }

  /** Expects the process to exit, so that it is not restarted. */
  expectEnd(name: string): Daemon {
    const daemon = this.schedulers.get(name)!;
    this.#expected.add(daemon);
    return daemon;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#daemons.stop();
  }
}
