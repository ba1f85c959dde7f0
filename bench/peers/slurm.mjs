import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ended, freePort, listening, SLOTS, startServer, WORKERS } from './processes.mjs';

const run = promisify(execFile);

/**
 * Slurm on this machine: munge, slurmctld, and one slurmd of eight processors; what only costs is off (accounting, cgroups, pauses
 * between rounds of scheduling, of which there is still one a second). A job is an array, as its users have many small tasks, and its
 * tasks tell of their ends themselves: `sbatch --wait` would ask every few seconds.
 */
export async function start(folder) {
  const at = (name) => join(folder, name);
  const [controller, node] = [await freePort(), await freePort()];
  const host = hostname().split('.')[0];
  chmodSync(folder, 0o755);
  for (const name of ['state', 'spool']) mkdirSync(at(name));
  writeFileSync(at('key'), randomBytes(128), { mode: 0o600 });
  const config = {
    ClusterName: 'peers',
    SlurmctldHost: `${host}(127.0.0.1)`,
    SlurmctldPort: controller,
    SlurmdPort: node,
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
    SchedulerParameters: 'sched_min_interval=0,batch_sched_delay=1,default_queue_depth=10000',
    SlurmdParameters: 'config_overrides',
    ReturnToService: 2,
    MaxJobCount: 100_000,
    MaxArraySize: 10_001,
    NodeName: `${host} NodeAddr=127.0.0.1 CPUs=${WORKERS * SLOTS} State=UNKNOWN`,
    PartitionName: `all Nodes=${host} Default=YES State=UP`,
  };
  const lines = Object.entries(config).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(at('slurm.conf'), lines.join(''));
  const env = { SLURM_CONF: at('slurm.conf') };
  const started = (program, args) => startServer(program, args, env, true);
  const munge = started('munged', [
    ...['--foreground', '--force', '--socket', at('munge'), '--key-file', at('key')],
    ...['--pid-file', at('munge.pid'), '--log-file', at('munge.log'), '--seed-file', at('seed')],
  ]);
  const servers = [started('slurmctld', ['-D'])];
  await listening(controller);
  servers.unshift(started('slurmd', ['-D']));
  const options = { env: { ...process.env, ...env } };
  for (;;) {
    const { stdout } = await run('sinfo', ['--noheader', '--format', '%T'], options);
    if (stdout.trim() === 'idle') break;
  }

  execFileSync('mkfifo', [at('ends')]);
  // Open for both, so that it does not end when nobody writes.
  const reader = spawn('cat', { stdio: [openSync(at('ends'), 'r+'), 'pipe', 'inherit'] });
  const waiting = new Map();
  createInterface({ input: reader.stdout }).on('line', (job) => {
    const left = waiting.get(job);
    if (--left.tasks === 0) left.resolve();
  });
  let jobs = 0;
  return {
    run: async (tasks, { sleepMs, exec }) => {
      const what = exec ?? (sleepMs === undefined ? ':' : `sleep ${sleepMs / 1_000}`);
      const job = String(++jobs);
      const over = new Promise((resolve) => waiting.set(job, { tasks, resolve }));
      await run(
        'sbatch',
        [
          ...['--quiet', '--output', '/dev/null', '--chdir', '/', '--array', `1-${tasks}`],
          ...['--wrap', `${what}; echo ${job} >${at('ends')}`],
        ],
        options,
      );
      await over;
      waiting.delete(job);
    },
    stop: async () => {
      await ended(reader);
      for (const server of servers) await ended(server);
      await ended(munge);
    },
  };
}
