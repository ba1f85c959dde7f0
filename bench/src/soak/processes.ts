import { type Daemon, Daemons, firstOfEach } from '../daemons.js';

/** Roles whose processes are killed and stopped. */
export type FaultyRole = 'central' | 'scheduler' | 'worker';
export type Role = FaultyRole | 'dashboard';

/** A place in the cluster, and its current process. */
export interface SoakProcess {
  readonly name: string;
  readonly role: Role;
  readonly start: () => Promise<Daemon>;
  /** Undefined while it is down. */
  daemon: Daemon | undefined;
  /** Running: neither down, nor starting, nor stopped. */
  isAwake: boolean;
}

/** Schedulers keep all jobs, so that the check of their journals finds each one. */
const KEEP_ALL = ['--keep-jobs', '1000000'];

interface SoakClusterOptions {
  readonly folder: string;
  readonly schedulers: number;
  readonly workers: number;
  readonly workersPerProcess: number;
  readonly centralArgs: readonly string[];
  readonly workerArgs?: readonly string[];
  /** Called if a process exits or fails to start without having been killed. */
  readonly onUnexpectedExit: (post: SoakProcess, how: string) => void;
}

/** A cluster of real processes, each of which may be killed, started again, stopped and continued. */
export class SoakCluster {
  readonly #options: SoakClusterOptions;
  readonly #daemons: Daemons;
  readonly posts: SoakProcess[] = [];
  #closing = false;

  constructor(options: SoakClusterOptions) {
    this.#options = options;
    this.#daemons = new Daemons(options.folder);
  }

  get url(): string {
    return this.#daemons.url;
  }

  get central(): SoakProcess {
    return this.posts[0]!;
  }

  /** The URL of the page. */
  get page(): string {
    return this.posts.at(-1)!.daemon!.endpoint;
  }

  async start(): Promise<void> {
    const { centralArgs, schedulers, workerArgs } = this.#options;
    this.#add('central', 'central', () => this.#daemons.startCentral(centralArgs));
    for (let i = 0; i < schedulers; i++)
      this.#add('scheduler', `s${i}`, () => this.#daemons.startScheduler(`s${i}`, KEEP_ALL));
    for (const first of firstOfEach(this.#options))
      this.#add('worker', `w${first}`, () =>
        this.#daemons.startWorkersFrom(first, this.#options, workerArgs),
      );
    const dashboard = ['dashboard', '--listen', '127.0.0.1:0'];
    this.#add('dashboard', 'dashboard', () =>
      this.#daemons.start('dashboard', [...dashboard, '--cluster', this.url]),
    );
    for (const post of this.posts) await this.startAt(post);
  }

  /** Starts the process of a place, and returns when it is up. */
  async startAt(post: SoakProcess): Promise<void> {
    try {
      post.daemon = await post.start();
    } catch (error) {
      this.#options.onUnexpectedExit(post, (error as Error).message);
      throw error;
    }
    const { daemon } = post;
    post.isAwake = true;
    void daemon.ended.then((how) => {
      if (this.#closing || post.daemon !== daemon) return;
      post.daemon = undefined;
      post.isAwake = false;
      this.#options.onUnexpectedExit(post, `${how}`);
      // Restarts it, like a supervisor.
      this.startAt(post).catch(() => {});
    });
  }

  /** Kills the process, like a crash; resolves when it has exited. */
  async kill(post: SoakProcess): Promise<void> {
    const { daemon } = post;
    post.daemon = undefined;
    post.isAwake = false;
    await daemon?.kill();
  }

  stop(post: SoakProcess): void {
    post.isAwake = false;
    post.daemon?.signal('SIGSTOP');
  }

  continue(post: SoakProcess): void {
    post.daemon?.signal('SIGCONT');
    post.isAwake = post.daemon !== undefined;
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#daemons.stop();
  }

  #add(role: Role, name: string, start: SoakProcess['start']): void {
    this.posts.push({ role, name, start, daemon: undefined, isAwake: false });
  }
}
