import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Cluster, connect } from '@goshawk/client';
import { image, known, PATIENCE } from './docker.fixture.js';

const ROOT = resolve(import.meta.dirname, '../../..');

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `docker-compose.yml` as it is, under a separate name and port. */
export class ComposeProject implements AsyncDisposable {
  readonly #environment: NodeJS.ProcessEnv;
  #client: Cluster | undefined;

  /** @param settings variables of the file, such as GOSHAWK_WORKERS */
  constructor(settings: Readonly<Record<string, string>>) {
    const name = `goshawk-test-${randomBytes(4).toString('hex')}`;
    const own = {
      COMPOSE_PROJECT_NAME: name,
      GOSHAWK_IMAGE: image,
      GOSHAWK_PORT: '0',
      GOSHAWK_PAGE_PORT: '0',
    };
    this.#environment = { ...process.env, ...own, ...settings };
  }

  run(...args: string[]): Promise<Ran> {
    const options = { cwd: ROOT, env: this.#environment, maxBuffer: 1 << 27 };
    return new Promise((resolve) => {
      execFile('docker', ['compose', ...args], options, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      );
    });
  }

  /** @throws Error with its stderr */
  async must(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`docker compose ${args.join(' ')}: ${stderr.slice(-4_000)}`);
    return stdout;
  }

  start(...args: string[]): ChildProcess {
    return spawn('docker', ['compose', ...args], {
      cwd: ROOT,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** A client on this machine, with the port and key that the documentation names. */
  async client(): Promise<Cluster> {
    if (this.#client !== undefined) return this.#client;
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-client-'));
    try {
      await this.must('cp', 'keys:/keys/client.key', join(folder, 'client.key'));
      const text = readFileSync(join(folder, 'client.key'), 'utf8');
      const address = (await this.must('port', 'central', '7070')).trim();
      this.#client = await connect(`tcp://${address}`, { keys: { text }, ...PATIENCE });
      return this.#client;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  /** Waits until central knows this many. */
  async known(schedulers: number, workers: number): Promise<void> {
    await known(await this.client(), schedulers, workers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.close();
    await this.must('--profile', 'tools', 'down', '--volumes', '--timeout', '2');
  }
}

/** Whether the file that a line of the compose file mounts is in the repository. */
export function isInRepository(path: string): boolean {
  return existsSync(join(ROOT, path));
}
