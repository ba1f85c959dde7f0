import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  childrenOf,
  type Finished,
  type ProcessOptions,
  type RunningGoshawk,
  startGoshawk,
} from './goshawk-process.fixture.js';

/** Runs `goshawk up` in a temporary folder, in which commands run and find it. */
export class TestCluster {
  readonly folder: string;
  /** URL of central. */
  readonly url: string;
  /** URL of the dashboard, with `--dashboard`. */
  readonly dashboard: string | undefined;
  readonly #up: RunningGoshawk;
  #leftOver: string | undefined;

  private constructor(
    folder: string,
    announced: { cluster: string; dashboard: string | null },
    up: RunningGoshawk,
  ) {
    this.folder = folder;
    this.url = announced.cluster;
    this.dashboard = announced.dashboard ?? undefined;
    this.#up = up;
  }

  /** @param options of `up` */
  static async start(options: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<TestCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-test-'));
    const data = ['--data-folder', join(folder, 'data')];
    const up = startGoshawk(['up', '--json', ...options, ...data], {
      XDG_STATE_HOME: folder,
      ...environment,
    });
    const announced = JSON.parse(await up.firstLine) as { cluster: string; dashboard: string | null };
    return new TestCluster(folder, announced, up);
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

  /** Process of `up`. */
  get pid(): number {
    return this.#up.pid;
  }

  /** Returns its processes. */
  children(): ReturnType<typeof childrenOf> {
    return childrenOf(this.#up.pid);
  }

  /** Stops central until `resume`. */
  pause(): void {
    process.kill(this.#centralPid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.#centralPid, 'SIGCONT');
  }

  get #centralPid(): number {
    return this.children().find(({ command }) => / central /.test(command))!.pid;
  }

  /** Resolves when stderr of `up` matches. */
  says(pattern: RegExp): Promise<void> {
    return this.#up.says(pattern);
  }

  /**
   * Drains the cluster and stops it. A failed test may leave jobs that run for hours, which a drain waits for: after 20 s
   * the cluster stops without them, so that the error of the test is the one that is reported.
   *
   * @returns the exit code and output of `up`
   * @throws if it has not exited after a minute, with the processes still running, which are killed, and if a process
   *   logged that it could not encode a message, since its reader then waits in vain
   */
  async stop(): Promise<Finished> {
    this.#up.kill('SIGINT');
    const again = setTimeout(() => this.#up.kill('SIGINT'), 20_000);
    const timer = setTimeout(() => this.#giveUp(), 60_000);
    const finished = await this.#up.finished;
    clearTimeout(again);
    clearTimeout(timer);
    const unsendable = await this.#unsendable();
    await removeFolder(this.folder);
    const problem = this.#leftOver ?? unsendable;
    if (problem !== undefined) throw new Error(problem);
    return finished;
  }

  /** Returns the first line of a log about a message that could not be encoded. */
  async #unsendable(): Promise<string | undefined> {
    const logs = join(this.folder, 'data', 'logs');
    // A test may have removed the folder.
    for (const name of await readdir(logs).catch(() => [])) {
      const lines = (await readFile(join(logs, name), 'utf8')).split('\n');
      const found = lines.find((line) => line.includes('"cause":"unsendable"'));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #giveUp(): void {
    const running = this.children();
    const list = running.map(({ pid, command }) => `${pid} ${command}`).join('; ');
    this.#leftOver = `goshawk up did not end after SIGINT; it ran ${list}; it said: ${this.#up.stderr()}`;
    this.#up.kill('SIGKILL');
    for (const { pid } of running) process.kill(pid, 'SIGKILL');
  }
}

/** Removes a folder. Daemons whose parent was killed exit soon, and may write until then. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, maxRetries: 50, retryDelay: 100 });
}
