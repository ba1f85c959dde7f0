import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, Daemons, runGoshawk } from '@goshawk/cli/testing';
import { type Cluster, connect, type JobSubmission } from '@goshawk/client';
import { freePort } from '@goshawk/journal/testing';
import { allJoined, until } from '../daemons.js';
import { Prometheus } from './prometheus.js';

type TaskInput = NonNullable<Extract<JobSubmission['tasks'], readonly unknown[]>>[number];

/** How a daemon is started: arguments, environment, and arguments of Node. */
export interface How {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly nodeArgs?: readonly string[];
  /** Central's endpoint, where it is not the usual one. */
  readonly centralUrl?: string;
  /** Data folder of a member, where it is not the usual one. */
  readonly data?: string;
}

/** Stands for `/readyz` of a process that has ended, hangs or cannot be reached. */
export const NO_ANSWER = 'no answer';
const READY_MS = 1_500;
const TOKEN = 'a-token-of-at-least-16-characters';

/** A small cluster of real processes with logs, alerts and an operator's commands. */
export class IncidentCluster {
  readonly folder: string;
  readonly daemons: Daemons;
  readonly #byName = new Map<string, Daemon>();
  readonly #httpPort: number;
  readonly #undo: (() => unknown)[] = [];
  #prometheus: Prometheus | undefined;
  #isSecure = false;

  private constructor(folder: string, httpPort: number) {
    this.folder = folder;
    this.daemons = new Daemons(folder);
    this.#httpPort = httpPort;
  }

  static async create(folder: string): Promise<IncidentCluster> {
    mkdirSync(folder, { recursive: true });
    return new IncidentCluster(folder, await freePort());
  }

  get url(): string {
    return this.daemons.url;
  }

  daemon(name: string): Daemon {
    return this.#byName.get(name)!;
  }

  /** Gives the cluster keys, and its HTTP servers a token. */
  async secure(): Promise<void> {
    await this.command('keygen', 'keys');
    writeFileSync(this.#tokenFile, TOKEN, { mode: 0o600 });
    this.#isSecure = true;
  }

  get #tokenFile(): string {
    return join(this.folder, 'http.token');
  }

  keysOf(role: string, folder = 'keys'): string {
    return join(this.folder, folder, `${role}.key`);
  }

  #options(role: string, { args = [] }: How): string[] {
    if (!this.#isSecure) return [...args];
    const token = ['--http-token-file', this.#tokenFile];
    return [...token, ...(args.includes('--keys') ? [] : ['--keys', this.keysOf(role)]), ...args];
  }

  /** Starts the process, or restarts it at the same addresses. */
  async central(how: How = {}): Promise<void> {
    const place = ['--http', `127.0.0.1:${this.#httpPort}`, '--data-folder', join(this.folder, 'central')];
    const args = [...place, ...this.#options('central', how)];
    if (args.includes('--bind')) {
      const daemon = await this.daemons.start('central', ['central', ...args], how.env, how.nodeArgs);
      this.daemons.url = daemon.endpoint;
      this.#byName.set('central', daemon);
    } else this.#byName.set('central', await this.daemons.startCentral(args, how.env, how.nodeArgs));
  }

  async scheduler(name: string, how: How = {}): Promise<void> {
    const options = ['--data-folder', how.data ?? join(this.folder, name)];
    const place = how.env?.GOSHAWK_JOURNAL === undefined ? options : [];
    await this.#member('scheduler', name, [...place, ...this.#options('scheduler', how)], how);
  }

  async worker(name: string, how: How = {}): Promise<void> {
    const own = ['--attribute', `node=${name}`, '--data-folder', how.data ?? join(this.folder, name)];
    const options = ['--cpus', '2', ...own];
    await this.#member('worker', name, [...options, ...this.#options('worker', how)], how);
  }

  async #member(role: string, name: string, args: readonly string[], how: How): Promise<void> {
    const central = ['--central-url', how.centralUrl ?? this.url, '--http', '127.0.0.1:0'];
    const all = [role, '--name', name, ...central, ...args];
    this.#byName.set(name, await this.daemons.start(name, all, how.env, how.nodeArgs));
  }

  /** Central, a scheduler `s0` and three workers. */
  async usual(): Promise<void> {
    await this.central();
    await Promise.all([this.scheduler('s0'), ...['w0', 'w1', 'w2'].map((name) => this.worker(name))]);
    await this.joined(3, 1);
  }

  async joined(workers: number, schedulers: number): Promise<void> {
    await using client = await this.client();
    await allJoined(client, workers, schedulers);
  }

  client(): Promise<Cluster> {
    const keys = this.#isSecure ? { keys: this.keysOf('client') } : {};
    return connect(this.url, { requestTimeoutMs: 60_000, renewMs: 500, ...keys });
  }

  async kill(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.daemon(name).kill()));
  }

  /** Kills processes that do not return. */
  async remove(...names: readonly string[]): Promise<void> {
    await this.kill(...names);
    for (const name of names) this.#byName.delete(name);
  }

  /** Submits a task that only this worker may run. @returns the id of the job */
  async pinned(worker: string, run: TaskInput = { sleep: 600_000 }): Promise<string> {
    await using client = await this.client();
    return (await client.submit({ require: { node: worker }, tasks: [run] })).id;
  }

  /** Runs a command, which may fail. @param via scheduler to ask beside central @returns all that it printed */
  async answer(words: readonly string[], via?: string): Promise<string> {
    const url = via === undefined ? this.url : `${this.url},${this.daemon(via).endpoint}`;
    const keys = this.#isSecure ? { GOSHAWK_KEYS: this.keysOf('client') } : {};
    const environment = { GOSHAWK_CLUSTER: url, XDG_STATE_HOME: this.folder, ...keys };
    const { stdout, stderr } = await runGoshawk(words, environment, { cwd: this.folder });
    return `${stdout}${stderr}`;
  }

  /** Texts of the cluster's events. */
  async events(): Promise<string[]> {
    await using client = await this.client();
    return (await client.events({})).events.map(({ text }) => text);
  }

  /** Returns the answer of `/readyz` of each process. */
  async readiness(): Promise<Record<string, string>> {
    const names = [...this.#byName.keys()];
    const said = await Promise.all(names.map((name) => this.#readinessOf(name)));
    return Object.fromEntries(names.map((name, index) => [name, said[index]!]));
  }

  async #readinessOf(name: string): Promise<string> {
    const headers = this.#isSecure ? { authorization: `Bearer ${TOKEN}` } : {};
    try {
      const url = `${await this.daemons.httpAddressOf(name)}/readyz`;
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(READY_MS) });
      return (await response.text()).trim();
    } catch {
      return NO_ANSWER;
    }
  }

  /** Runs a command of the operator. @returns what it printed */
  async command(...words: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await runGoshawk(
      words,
      { GOSHAWK_CLUSTER: this.url, XDG_STATE_HOME: this.folder },
      { cwd: this.folder },
    );
    if (exitCode !== 0) throw new Error(`goshawk ${words.join(' ')} exited with ${exitCode}: ${stderr}`);
    return stdout;
  }

  /** Starts Prometheus, and waits until it has scraped this many processes. */
  async watch(processes: number): Promise<void> {
    const door = `http://127.0.0.1:${this.#httpPort}`;
    this.#prometheus = await Prometheus.start(
      join(this.folder, 'prometheus'),
      door,
      this.#isSecure ? this.#tokenFile : undefined,
    );
    await until(async () => (await this.#prometheus!.targetsUp()) >= processes, 200);
  }

  get alerts(): Prometheus {
    return this.#prometheus!;
  }

  /** All lines of the logs that match, with the name of the log. */
  logged(pattern: RegExp): string[] {
    const folder = join(this.folder, 'logs');
    return readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8')
        .split('\n')
        .map((line) => `${file.replace(/\.log$/, '')}: ${line}`)
        .filter((line) => pattern.test(line)),
    );
  }

  /** Registers a function that is always called at the end. */
  finally(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  /** Stops everything; a step that fails does not prevent the others. */
  async stop(): Promise<void> {
    for (const daemon of this.#byName.values()) daemon.signal('SIGCONT');
    const steps = [() => this.daemons.stop(), () => this.#prometheus?.stop(), ...this.#undo.reverse()];
    const errors: unknown[] = [];
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `${this.folder}: not everything was stopped`);
  }
}
