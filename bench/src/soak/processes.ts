import { setTimeout as pause } from 'node:timers/promises';
import { inPostgres } from '@goshawk/journal';
import { PostgresServer } from '@goshawk/journal/testing';
import { type Daemon, Daemons, firstOfEach } from '../daemons.js';

/** Roles whose processes are killed and stopped. */
export type FaultyRole = 'central' | 'scheduler' | 'worker' | 'postgres';
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
  /** How many of the schedulers share a journal in a PostgreSQL server of the cluster's own; default: none. */
  readonly inPostgres?: number;
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
  #postgres: PostgresServer | undefined;
  /** The database of the shared journal, if there is one. */
  journal: string | undefined;

  constructor(options: SoakClusterOptions) {
    this.#options = options;
    this.#daemons = new Daemons(options.folder);
  }

  get url(): string {
    return this.#daemons.url;
  }

  get central(): SoakProcess {
    return this.posts.find(({ role }) => role === 'central')!;
  }

  /** The URL of the page. */
  get page(): string {
    return this.posts.at(-1)!.daemon!.endpoint;
  }

  async start(): Promise<void> {
    const { centralArgs, schedulers, workerArgs, inPostgres: shared = 0 } = this.#options;
    if (shared > 0) await this.#startPostgres();
    this.#add('central', 'central', () => this.#daemons.startCentral(centralArgs));
    for (let i = 0; i < schedulers; i++)
      this.#add('scheduler', `s${i}`, () => this.#startScheduler(`s${i}`, i < shared));
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
      if (!this.#isTakenOver(post)) this.#options.onUnexpectedExit(post, `${how}`);
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
    this.#postgres?.pause(false);
    await this.#postgres?.remove();
  }

  #add(role: Role, name: string, start: SoakProcess['start']): void {
    this.posts.push({ role, name, start, daemon: undefined, isAwake: false });
  }

  /** Whether it is a scheduler whose journal is in PostgreSQL. */
  isShared({ role, name }: SoakProcess): boolean {
    return role === 'scheduler' && Number(name.slice(1)) < (this.#options.inPostgres ?? 0);
  }

  /** Whether another scheduler has taken over its journal after its lease, so that it exits on purpose. */
  #isTakenOver(post: SoakProcess): boolean {
    return this.isShared(post) && this.#daemons.logOf(post.name).slice(-TAIL).includes(TAKEN_OVER);
  }

  #startScheduler(name: string, isShared: boolean): Promise<Daemon> {
    if (!isShared) return this.#daemons.startScheduler(name, KEEP_ALL);
    const args = ['scheduler', '--name', name, '--central-url', this.url, ...KEEP_ALL];
    return supervised(() => this.#daemons.start(name, args, { GOSHAWK_JOURNAL: this.journal }));
  }

  async #startPostgres(): Promise<void> {
    const server = await PostgresServer.start();
    this.#postgres = server;
    this.journal = await server.createDatabase('jobs');
    await (await inPostgres()).initStore(this.journal);
    const daemon: Daemon = {
      endpoint: this.journal,
      // Its memory is not Goshawk's.
      pid: Number.NaN,
      ended: new Promise(() => {}),
      signal: (name) => server.pause(name === 'SIGSTOP'),
      kill: async () => server.kill(),
    };
    let isFirst = true;
    this.#add('postgres', 'postgres', async () => {
      if (!isFirst) await supervised(() => server.start());
      isFirst = false;
      return daemon;
    });
  }
}

/**
 * Starts a process again until it is up: PostgreSQL only starts once all processes of the killed server have gone, and a
 * scheduler only while PostgreSQL answers.
 */
async function supervised<T>(start: () => Promise<T>): Promise<T> {
  for (let left = STARTS_MAX; ; left--) {
    try {
      return await start();
    } catch (error) {
      if (left === 0) throw error;
      await pause(RESTART_MS);
    }
  }
}

const STARTS_MAX = 30;
const TAIL = 1_000;
const TAKEN_OVER = 'taken over';
const RESTART_MS = 1_000;
