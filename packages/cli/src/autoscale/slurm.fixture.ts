import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, leaveOut } from '@goshawk/journal/testing';

const PROGRAMS = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'sinfo', 'scancel'];

/**
 * Reports whether Slurm is installed, and prints a notice about skipped tests if not.
 *
 * @throws with `GOSHAWK_REQUIRE=slurm`
 */
export function isSlurmThere(): boolean {
  const missing = PROGRAMS.filter((program) => {
    try {
      execFileSync('which', [program], { stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });
  const notRoot = process.getuid?.() === 0 ? undefined : 'slurmd needs root';
  const why = missing.length > 0 ? `there is no ${missing.join(', ')}` : notRoot;
  if (why !== undefined) leaveOut('slurm', why, 'tests with Slurm');
  return why === undefined;
}

/**
 * A Slurm cluster with this machine as its only node, without accounting and cgroups, which tests do not
 * need.
 */
export class SlurmCluster {
  /** Environment with the configuration of this cluster for Slurm commands. */
  readonly environment: Record<string, string>;
  readonly #folder: string;
  readonly #servers: ChildProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
    this.environment = { SLURM_CONF: join(folder, 'slurm.conf') };
  }

  /** @param settings additional settings of slurm.conf */
  static async start(
    cpus: number,
    settings: Readonly<Record<string, string | number>> = {},
  ): Promise<SlurmCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-slurm-'));
    const cluster = new SlurmCluster(folder);
    try {
      await cluster.#start(cpus, settings);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Returns the output of a Slurm command. */
  async ask(command: string, ...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(command, args, {
      env: { ...process.env, ...this.environment },
    });
    return stdout.trim();
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) {
      if (server.exitCode !== null || server.signalCode !== null) continue;
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  async #start(cpus: number, settings: Readonly<Record<string, string | number>>): Promise<void> {
    const at = (name: string): string => join(this.#folder, name);
    // slurmd runs batches of any user from this folder.
    chmodSync(this.#folder, 0o755);
    for (const name of ['state', 'spool']) mkdirSync(at(name));
    writeFileSync(at('key'), randomBytes(128), { mode: 0o600 });
    const host = hostname().split('.')[0];
    const config = {
      ClusterName: 'test',
      SlurmctldHost: `${host}(127.0.0.1)`,
      SlurmctldPort: await freePort(),
      SlurmdPort: await freePort(),
      SlurmUser: userInfo().username,
      SlurmdUser: userInfo().username,
      AuthInfo: `socket=${at('munge')}`,
      StateSaveLocation: at('state'),
      SlurmdSpoolDir: at('spool'),
      SlurmctldPidFile: at('slurmctld.pid'),
      SlurmdPidFile: at('slurmd.pid'),
      SlurmctldLogFile: at('slurmctld.log'),
      SlurmdLogFile: at('slurmd.log'),
      MpiDefault: 'none',
      ProctrackType: 'proctrack/pgid',
      TaskPlugin: 'task/none',
      SwitchType: 'switch/none',
      JobAcctGatherType: 'jobacct_gather/none',
      AccountingStorageType: 'accounting_storage/none',
      SelectType: 'select/cons_tres',
      SelectTypeParameters: 'CR_Core',
      SchedulerType: 'sched/builtin',
      SlurmdParameters: 'config_overrides',
      ReturnToService: 2,
      ...settings,
      NodeName: `${host} NodeAddr=127.0.0.1 CPUs=${cpus} State=UNKNOWN`,
      PartitionName: `all Nodes=${host} Default=YES State=UP`,
    };
    const lines = Object.entries(config).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(at('slurm.conf'), lines.join(''));
    this.#server('munged', [
      ...['--foreground', '--force', '--socket', at('munge'), '--key-file', at('key')],
      ...['--pid-file', at('munge.pid'), '--log-file', at('munge.log'), '--seed-file', at('seed')],
    ]);
    this.#server('slurmctld', ['-D']);
    this.#server('slurmd', ['-D']);
    // The commands fail until the controller responds and the node has registered.
    for (;;) {
      const state = await this.ask('sinfo', '--noheader', '--format', '%T').catch(() => '');
      if (state === 'idle') return;
      const ended = this.#servers.find(({ exitCode }) => exitCode !== null);
      if (ended !== undefined) throw new Error(`${ended.spawnfile} ended with ${ended.exitCode}`);
    }
  }

  #server(program: string, args: readonly string[]): void {
    // The server that started last stops first.
    this.#servers.unshift(
      spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...this.environment } }),
    );
  }
}
