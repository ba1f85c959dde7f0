import { join } from 'node:path';
import { ANY_PORT, type Daemon, Daemons, workerArgs } from '../daemons.js';

export type Role = 'central' | 'scheduler' | 'worker';

/** A place in the cluster, and the process that is there. */
export interface Post {
  readonly name: string;
  readonly role: Role;
  /** Of its command, as it is started the next time. */
  args: readonly string[];
  /** Undefined while it is down. */
  daemon: Daemon | undefined;
  /** It is up and runs: neither down, nor starting, nor stopped. */
  isAwake: boolean;
}

interface SoakClusterOptions {
  readonly folder: string;
  readonly schedulers: number;
  readonly workers: number;
  readonly workersPerProcess: number;
  /** A process has ended, or could not be started, and nobody has killed it. */
  readonly onEndedByItself: (post: Post, how: string) => void;
}

/** A cluster of real processes, each of which may be killed, started again, stopped and continued. */
export class SoakCluster {
  readonly #options: SoakClusterOptions;
  readonly #daemons: Daemons;
  readonly posts: Post[] = [];
  #closing = false;

  constructor(options: SoakClusterOptions) {
    this.#options = options;
    this.#daemons = new Daemons(options.folder);
  }

  get url(): string {
    return this.central.daemon!.endpoint;
  }

  get central(): Post {
    return this.posts[0]!;
  }

  async start(): Promise<void> {
    const { schedulers, workers, workersPerProcess, folder } = this.#options;
    const central = this.#add('central', 'central', ['central', '--cutoff', '1']);
    await this.startAt(central);
    const { endpoint } = central.daemon!;
    // Others look for it there.
    central.args = [...central.args, '--bind', endpoint];
    const at = ['--central-url', endpoint];
    for (let i = 0; i < schedulers; i++) {
      const name = `s${i}`;
      this.#add('scheduler', name, ['scheduler', '--name', name, '--data-folder', join(folder, name), ...at]);
    }
    for (let first = 0; first < workers; first += workersPerProcess) {
      const count = Math.min(workersPerProcess, workers - first);
      this.#add('worker', `workers${first}`, workerArgs(endpoint, first, count, workers, folder));
    }
    for (const post of this.posts.slice(1)) await this.startAt(post);
  }

  /** Starts the process of a place, and returns when it is up. */
  async startAt(post: Post): Promise<void> {
    const bind = post.args.includes('--bind') ? [] : ANY_PORT;
    try {
      post.daemon = await this.#daemons.start(post.name, [...post.args, ...bind]);
    } catch (error) {
      this.#options.onEndedByItself(post, (error as Error).message);
      throw error;
    }
    const { daemon } = post;
    post.isAwake = true;
    void daemon.ended.then((how) => {
      if (this.#closing || post.daemon !== daemon) return;
      post.daemon = undefined;
      post.isAwake = false;
      this.#options.onEndedByItself(post, `${how}`);
      // As whoever supervises it would.
      this.startAt(post).catch(() => {});
    });
  }

  /** As a crash would; returns when it is gone. */
  async kill(post: Post): Promise<void> {
    const { daemon } = post;
    post.daemon = undefined;
    post.isAwake = false;
    await daemon?.kill();
  }

  stop(post: Post): void {
    post.isAwake = false;
    post.daemon?.signal('SIGSTOP');
  }

  continue(post: Post): void {
    post.daemon?.signal('SIGCONT');
    post.isAwake = post.daemon !== undefined;
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#daemons.stop();
  }

  #add(role: Role, name: string, args: readonly string[]): Post {
    const post: Post = { role, name, args, daemon: undefined, isAwake: false };
    this.posts.push(post);
    return post;
  }
}
