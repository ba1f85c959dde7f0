import { execFile } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseProcessStat } from '@goshawk/core';
import { leaveOut } from '../required.fixture.js';

const run = promisify(execFile);
const PACKAGES = '/usr/lib/postgresql';

interface ServerOptions {
  /** Parent of the data folder; default: a new temporary folder. */
  readonly under?: string;
  /** Settings as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Certificates and key in PEM; with them the server accepts encrypted connections. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
  /** Lines of pg_hba.conf that precede those that admit all users. */
  readonly access?: readonly string[];
}

/** The newest PostgreSQL of the system’s packages, or the one in `GOSHAWK_POSTGRES_BIN`; undefined: none is installed. */
export function postgresPrograms(): string | undefined {
  const { GOSHAWK_POSTGRES_BIN: given } = process.env;
  if (given !== undefined) return given;
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES).map(Number) : [];
  const newest = versions.filter(Number.isFinite).sort((a, b) => b - a)[0];
  return newest === undefined ? undefined : join(PACKAGES, String(newest), 'bin');
}

/** Whether PostgreSQL is installed; if not, reports that tests are skipped. @throws with `GOSHAWK_REQUIRE=postgres` */
export function isPostgresThere(): boolean {
  const isThere = postgresPrograms() !== undefined;
  if (!isThere)
    leaveOut(
      'postgres',
      'there is no PostgreSQL on this machine (apt-get install postgresql)',
      'tests with it',
    );
  return isThere;
}

/**
 * A temporary PostgreSQL server on loopback for tests and measurements. It refuses to run as root, so for
 * root it runs as the user `postgres`.
 */
export class PostgresServer {
  readonly port: number;
  readonly #folder: string;
  readonly #bin: string;
  readonly #user: Readonly<{ uid: number; gid: number }> | undefined;

  private constructor(bin: string, folder: string, port: number) {
    this.#bin = bin;
    this.#folder = folder;
    this.port = port;
    this.#user = userFor();
  }

  /** @throws if PostgreSQL is not installed */
  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const { under = tmpdir(), settings = {}, tls, access = [] } = options;
    const server = await PostgresServer.#made(under);
    await server.#run('initdb', [
      ...['--no-sync', '--auth=trust', '--username=goshawk', '--encoding=UTF8', '--locale=C'],
      ...['-D', server.#data],
    ]);
    const hba = readFileSync(join(server.#data, 'pg_hba.conf'), 'utf8');
    server.#write('pg_hba.conf', [...access, hba].join('\n'));
    for (const [name, text] of Object.entries(tls ?? {})) server.#write(`${name}.pem`, text);
    const encrypted = {
      ssl: 'on',
      ssl_cert_file: 'cert.pem',
      ssl_key_file: 'key.pem',
      ssl_ca_file: 'ca.pem',
    };
    await server.start(tls === undefined ? settings : { ...encrypted, ...settings });
    return server;
  }

  /** Stored in the data folder, readable only by the server. */
  #write(name: string, text: string): void {
    const path = join(this.#data, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (this.#user !== undefined) chownSync(path, this.#user.uid, this.#user.gid);
  }

  /** Starts a standby of this server. @param port of a former server; default: a free port */
  async standby(settings: Readonly<Record<string, string>> = {}, port?: number): Promise<PostgresServer> {
    const standby = await PostgresServer.#made(join(this.#folder, '..'), port);
    await standby.#run('pg_basebackup', [
      ...['-h', '127.0.0.1', '-p', String(this.port), '-U', 'goshawk', '-D', standby.#data],
      ...['--write-recovery-conf', '--checkpoint=fast', '--wal-method=stream'],
    ]);
    await standby.start(settings);
    return standby;
  }

  static async #made(under: string, port?: number): Promise<PostgresServer> {
    const bin = postgresPrograms();
    if (bin === undefined) throw new Error('there is no PostgreSQL on this machine');
    const folder = mkdtempSync(join(under, 'goshawk-postgres-'));
    const server = new PostgresServer(bin, folder, port ?? (await freePort()));
    if (server.#user !== undefined) chownSync(folder, server.#user.uid, server.#user.gid);
    return server;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  /** URL with several hosts, of which the first writable one is used. */
  url(database = 'postgres', others: readonly PostgresServer[] = []): string {
    const places = [this, ...others].map(({ port }) => `127.0.0.1:${port}`);
    return `postgres://goshawk@${places.join(',')}/${database}`;
  }

  async createDatabase(name: string): Promise<string> {
    await this.sql(`create database ${name}`);
    return this.url(name);
  }

  async sql(statement: string, database = 'postgres'): Promise<string> {
    const options = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'goshawk', '-At', '-c', statement];
    return (await this.#run('psql', [...options, database])).trim();
  }

  /** Restarts the server after `stop` or `kill`, with other settings if given. */
  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const all = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: String(this.port),
      ...settings,
    };
    const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
    await this.#run('pg_ctl', [
      ...['start', '-w', '-t', '60', '-D', this.#data, '-l', join(this.#folder, 'log')],
      ...['-o', options.join(' ')],
    ]);
  }

  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#run('pg_ctl', ['stop', '-w', '-D', this.#data, '-m', mode]);
  }

  async promote(): Promise<void> {
    await this.#run('pg_ctl', ['promote', '-w', '-D', this.#data]);
  }

  /** Kills all processes of the server with SIGKILL, as if its machine lost power. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  /** Stops or continues all processes of the server. */
  pause(on: boolean): void {
    this.#signal(on ? 'SIGSTOP' : 'SIGCONT');
  }

  /** Stops the server and removes its folder. */
  async remove(): Promise<void> {
    await this.stop('immediate').catch(() => {});
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    const postmaster = Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === postmaster);
    for (const pid of [postmaster, ...all.map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It exited without being stopped.
      }
    }
  }

  async #run(program: string, words: readonly string[]): Promise<string> {
    mkdirSync(this.#folder, { recursive: true });
    const { stdout } = await run(join(this.#bin, program), words, { cwd: this.#folder, ...this.#user });
    return stdout;
  }
}

function parentOf(pid: string): number | undefined {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).parent;
  } catch {
    return undefined;
  }
}

/** PostgreSQL refuses to run as root. */
function userFor(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'));
  if (line === undefined) throw new Error('there is no user postgres, as whom PostgreSQL could run');
  const [, , uid, gid] = line.split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Returns a port of loopback that no process listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
