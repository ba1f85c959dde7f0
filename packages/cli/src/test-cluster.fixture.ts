import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  childrenOf,
  type Finished,
  type ProcessOptions,
  type RunningGoshawk,
  startGoshawk,
} from './goshawk-process.fixture.js';

/** `goshawk up` in a folder of its own, which commands run in and find it by. */
export class TestCluster {
  readonly folder: string;
  /** URL of central. */
  readonly url: string;
  /** URL of the page, with `--dashboard`. */
  readonly dashboard: string | undefined;
  readonly #up: RunningGoshawk;
  #leftOver: string | undefined;

  private constructor(
    folder: string,
    said: { cluster: string; dashboard: string | null },
    up: RunningGoshawk,
  ) {
    this.folder = folder;
    this.url = said.cluster;
    this.dashboard = said.dashboard ?? undefined;
    this.#up = up;
  }

  /** @param options of `up` */
  static async start(options: readonly string[]): Promise<TestCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-test-'));
    const data = ['--data-folder', join(folder, 'data')];
    const up = startGoshawk(['up', '--json', ...options, ...data], { XDG_STATE_HOME: folder });
    const said = JSON.parse(await up.firstLine) as { cluster: string; dashboard: string | null };
    return new TestCluster(folder, said, up);
  }

  /** Starts a command, as in a second terminal. */
  run(
    args: readonly string[],
    { environment, ...options }: ProcessOptions & { readonly environment?: NodeJS.ProcessEnv } = {},
  ): RunningGoshawk {
    return startGoshawk(
      args,
      { XDG_STATE_HOME: this.folder, ...environment },
      { cwd: this.folder, ...options },
    );
  }

  goshawk(args: readonly string[], options?: Parameters<TestCluster['run']>[1]): Promise<Finished> {
    return this.run(args, options).finished;
  }

  /** Its processes. */
  children(): ReturnType<typeof childrenOf> {
    return childrenOf(this.#up.pid);
  }

  /** Central stands still until `resume`. */
  pause(): void {
    process.kill(this.#centralPid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.#centralPid, 'SIGCONT');
  }

  get #centralPid(): number {
    return this.children().find(({ command }) => / central /.test(command))!.pid;
  }

  /** Resolves when something that `up` says on stderr matches. */
  says(pattern: RegExp): Promise<void> {
    return this.#up.says(pattern);
  }

  /**
   * @returns what `up` ended with
   * @throws where it has not ended after a minute, with what still runs; all of it is killed
   */
  async stop(): Promise<Finished> {
    this.#up.kill('SIGINT');
    const timer = setTimeout(() => this.#giveUp(), 60_000);
    const finished = await this.#up.finished;
    clearTimeout(timer);
    await removeFolder(this.folder);
    if (this.#leftOver !== undefined) throw new Error(this.#leftOver);
    return finished;
  }

  #giveUp(): void {
    const running = this.children();
    const list = running.map(({ pid, command }) => `${pid} ${command}`).join('; ');
    this.#leftOver = `goshawk up did not end after SIGINT; it ran ${list}; it said: ${this.#up.stderr()}`;
    this.#up.kill('SIGKILL');
    for (const { pid } of running) process.kill(pid, 'SIGKILL');
  }
}

/** Daemons whose parent was killed end by themselves, and may write until then. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, maxRetries: 50, retryDelay: 100 });
}
