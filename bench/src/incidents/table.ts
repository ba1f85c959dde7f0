import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, JobSubmission } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { PostgresServer } from '@goshawk/journal/testing';
import { fillDisk, limitFiles, mountDisk, otherProtocol, slowDisk, TcpProxy } from './faults.js';
import type { Incident } from './play.js';
import type { IncidentCluster } from './site.js';

/** A cluster with a process that is killed, or hangs, and is then restarted. */
function dies(name: 'w1' | 's0' | 'central', how: 'SIGKILL' | 'SIGSTOP', alert: string): Incident {
  const role = { w1: 'worker', s0: 'scheduler', central: 'central' }[name];
  const why = how === 'SIGKILL' ? ENDED : HANGS;
  return {
    name: `${role}-${how === 'SIGKILL' ? 'killed' : 'hung'}`,
    alert,
    cause: name === 'central' ? new RegExp(`"event":"central-silent".*${why}`) : lost(role, name, why),
    runbook: `goshawk ${role}`,
    async build(site) {
      await site.usual();
      return {
        processes: 5,
        make: () => site.daemon(name).signal(how),
        async end() {
          await site.kill(name);
          await (name === 'central'
            ? site.central()
            : name === 's0'
              ? site.scheduler(name)
              : site.worker(name));
        },
      };
    },
  };
}

/** A cluster in which central and one process cannot reach each other. */
function partitioned(name: 'w1' | 's1', alert: string): Incident {
  const role = name === 'w1' ? 'worker' : 'scheduler';
  return {
    name: `${role}-partitioned`,
    alert,
    cause: new RegExp(`^${name}: .*"event":"central-silent".*does not answer`),
    runbook: 'goshawk logs --daemons --event central-silent',
    async build(site) {
      const [ofCentral, ofOne] = [await TcpProxy.lay(site), await TcpProxy.lay(site)];
      await site.central({ args: ofCentral.options });
      await Promise.all([site.scheduler('s0'), site.worker('w0')]);
      await site[role](name, { args: ofOne.options });
      await site.joined(role === 'worker' ? 2 : 1, role === 'worker' ? 1 : 2);
      return {
        processes: 4,
        make() {
          ofCentral.cut(site.daemon(name).pid);
          ofOne.cut();
        },
        end() {
          ofCentral.mend();
          ofOne.mend();
        },
      };
    },
  };
}

/** A new connection distinguishes a process that ended from one that hangs. */
const lost = (role: string, name: string, why: string): RegExp =>
  new RegExp(`"event":"loss-diagnosed".*${role} ${name}, just lost: .*${why}`);
const ENDED = 'its process has ended';
const HANGS = 'no process responds: it hangs';

/** Incidents that page an operator. */
export const INCIDENTS: readonly Incident[] = [
  dies('w1', 'SIGKILL', 'GoshawkWorkersLost'),
  dies('w1', 'SIGSTOP', 'GoshawkWorkersLost'),
  dies('s0', 'SIGKILL', 'GoshawkSchedulerAway'),
  dies('s0', 'SIGSTOP', 'GoshawkSchedulerAway'),
  dies('central', 'SIGKILL', 'GoshawkCentralAway'),
  dies('central', 'SIGSTOP', 'GoshawkCentralAway'),
  partitioned('w1', 'GoshawkWorkersLost'),
  partitioned('s1', 'GoshawkSchedulerAway'),
  {
    name: 'all-workers-killed',
    alert: 'GoshawkNoWorkers',
    cause: lost('worker', 'w1', ENDED),
    runbook: 'goshawk worker',
    async build(site) {
      await site.usual();
      await using client = await site.client();
      await client.submit({ name: 'load', tasks: { count: 20, run: { sleep: 600_000 } } });
      return {
        processes: 5,
        make: () => site.kill('w0', 'w1', 'w2'),
        end: () => Promise.all(['w0', 'w1', 'w2'].map((name) => site.worker(name))),
      };
    },
  },
  {
    name: 'node-lost',
    alert: 'GoshawkSchedulerMissing',
    cause: /"event":"schedulers-missing".*missing: s0/,
    runbook: 'goshawk scheduler',
    async build(site) {
      await site.usual();
      await site.scheduler('s1');
      await site.joined(3, 2);
      await using client = await site.client();
      await client.submit({ tasks: [{ sleep: 600_000 }] });
      return {
        processes: 6,
        async make() {
          await site.kill('central', 's0');
          await site.central();
        },
        end: () => site.scheduler('s0'),
      };
    },
  },
  {
    name: 'disk-full',
    alert: 'GoshawkJournalFull',
    cause: /^s0: .*no new jobs are accepted.*disk/,
    runbook: 'df -h',
    async build(site) {
      const disk = mountDisk(site, 220);
      await site.central();
      await site.scheduler('s0', { data: join(disk, 's0') });
      await site.worker('w0');
      await site.joined(1, 1);
      let filler = '';
      return {
        processes: 3,
        make: () => {
          filler = fillDisk(disk, 40);
        },
        end: () => rmSync(filler),
      };
    },
  },
  {
    name: 'disk-failed',
    alert: 'GoshawkSchedulerAway',
    cause: /^s0: .*"level":60.*the journal cannot be written/,
    runbook: 'goshawk journal verify',
    async build(site) {
      await site.usual();
      await using client = await site.client();
      await (await client.submit({ tasks: [{ sleep: 1 }] })).wait();
      return {
        processes: 5,
        async make() {
          limitFiles(site.daemon('s0').pid, join(site.folder, 's0', 'journal', 'jobs.mdb'));
          await using other = await site.client();
          const giveUp = new AbortController();
          void site.daemon('s0').ended.then(() => giveUp.abort());
          const job = { tasks: [{ exec: ['true', 'x'.repeat(4_000)] }] };
          await Promise.allSettled(
            Array.from({ length: 50 }, () => other.submit(job, { signal: giveUp.signal })),
          );
        },
        async end() {
          await site.command('journal', 'verify', 's0');
          await site.scheduler('s0');
        },
      };
    },
  },
  {
    name: 'disk-slow',
    alert: 'GoshawkJournalSlow',
    cause: /^s0: .*"event":"journal-slow"/,
    runbook: 'iostat -x',
    async build(site) {
      await site.usual();
      let restore = async (): Promise<void> => {};
      return {
        processes: 5,
        async make() {
          restore = await slowDisk(site, site.daemon('s0').pid, 800);
          await load(site, { tasks: [{ sleep: 1 }] }, 500);
        },
        end: () => restore(),
      };
    },
  },
  {
    name: 'wrong-key',
    alert: 'GoshawkConnectionsRejected',
    cause: /^w1: .*rejects this process.s key/,
    runbook: 'goshawk keygen',
    async build(site) {
      await site.secure();
      await site.usual();
      return {
        processes: 5,
        async make() {
          await site.command('keygen', 'other-keys');
          await site.kill('w1');
          await site.worker('w1', { args: ['--keys', site.keysOf('worker', 'other-keys')] });
        },
        async end() {
          await site.kill('w1');
          await site.worker('w1');
        },
        isOver: () => site.joined(3, 1),
      };
    },
  },
  {
    name: 'foreign-clients',
    alert: 'GoshawkConnectionsRejected',
    cause: /^central: .*refused connections|^central: .*rejected connections/,
    runbook: 'ss -tn',
    async build(site) {
      await site.usual();
      const { hostname, port } = new URL(site.url.replace(/^tcp:/, 'http:'));
      return {
        processes: 5,
        async make() {
          for (let i = 0; i < 40; i++) {
            const socket = dial(Number(port), hostname, () => socket.end('GET / HTTP/1.1\r\n\r\n'));
            socket.on('error', () => {});
            await pause(50);
          }
        },
        end: () => {},
        isOver: () => {},
      };
    },
  },
  {
    name: 'flood',
    alert: 'GoshawkOverloaded',
    cause: /^s0: .*"event":"jobs-refused".*"users":\[\{"user":"ann"/,
    runbook: 'goshawk cancel',
    async build(site) {
      await site.central();
      await site.scheduler('s0', { args: ['--active-jobs-max', '20'] });
      await site.worker('w0');
      await site.joined(1, 1);
      let stop = (): void => {};
      return {
        processes: 3,
        async make() {
          stop = await load(site, { user: 'ann', tasks: [{ sleep: 600_000 }] }, 200);
        },
        async end() {
          stop();
          await using client = await site.client();
          const { jobs } = await client.jobs();
          await site.command('cancel', ...jobs.map(({ id }) => id));
        },
      };
    },
  },
  {
    name: 'bad-worker',
    alert: 'GoshawkWorkersQuarantined',
    cause: /^bad: .*a task could not be started: the command ."the-tool." is not in this worker.s PATH/,
    runbook: 'goshawk drain',
    async build(site) {
      const bin = join(site.folder, 'bin');
      mkdirSync(bin);
      writeFileSync(join(bin, 'the-tool'), '#!/bin/sh\nsleep 0.02\n');
      chmodSync(join(bin, 'the-tool'), 0o755);
      await site.central();
      await site.scheduler('s0');
      const [good, bad] = [`${bin}:/usr/bin:/bin`, '/usr/bin:/bin'].map((PATH) => ({ env: { PATH } }));
      await Promise.all([site.worker('w0', good), site.worker('w1', good), site.worker('bad', bad)]);
      await site.joined(3, 1);
      let stop = (): void => {};
      return {
        processes: 5,
        async make() {
          stop = await load(site, { tasks: { count: 20, run: { exec: ['the-tool'] } } }, 500);
        },
        async end() {
          await site.command('drain', 'bad');
          stop();
          await site.kill('bad');
          await site.worker('bad', good);
        },
      };
    },
  },
  {
    name: 'bad-program',
    alert: 'GoshawkTasksFail',
    cause: /^s0: .*"event":"attempt-failed".*on w[012]: failed .exit code 1/,
    runbook: 'goshawk jobs --state failed',
    async build(site) {
      await site.usual();
      let stop = (): void => {};
      return {
        processes: 5,
        async make() {
          stop = await load(site, { retries: 0, tasks: { count: 5, run: { exec: ['false'] } } }, 500);
        },
        async end() {
          stop();
          stop = await load(site, { tasks: { count: 20, run: { exec: ['true'] } } }, 200);
        },
      };
    },
  },
  {
    name: 'restored',
    alert: 'GoshawkJournalsUnowned',
    cause: /"event":"schedulers-missing".*missing: s[01]/,
    runbook: 'goshawk takeover --all',
    async build(site) {
      const server = await PostgresServer.start({ settings: { fsync: 'off' } });
      site.finally(() => server.remove());
      const url = await server.createDatabase('jobs');
      await (await inPostgres()).initStore(url);
      await site.central();
      await Promise.all(['s0', 's1'].map((name) => site.scheduler(name, { env: { GOSHAWK_JOURNAL: url } })));
      await site.worker('w0');
      await site.joined(1, 2);
      await using client = await site.client();
      for (let i = 0; i < 8; i++) await client.submit({ tasks: [{ sleep: 600_000 }] });
      return {
        processes: 4,
        async make() {
          await site.kill('central', 's0', 's1', 'w0');
          await server.sql('create database restored template jobs');
          await site.central();
          await site.scheduler('r0', { env: { GOSHAWK_JOURNAL: server.url('restored') } });
          await site.worker('w0');
        },
        end: () => site.command('takeover', '--all'),
      };
    },
  },
  {
    name: 'wrong-upgrade',
    alert: 'GoshawkVersionMismatch',
    cause: /protocol version \d+; this process speaks version \d+/,
    runbook: 'goshawk --version',
    async build(site) {
      await site.usual();
      return {
        processes: 5,
        async make() {
          await site.kill('central');
          await site.central(otherProtocol(site));
        },
        async end() {
          await site.kill('central');
          await site.central();
        },
        isOver: () => site.joined(3, 1),
      };
    },
  },
  {
    name: 'postgres-failover',
    alert: 'GoshawkJournalAway',
    cause: /^s0: .*no new jobs are accepted: postgres:.*does not answer/,
    runbook: 'pg_ctl promote',
    async build(site) {
      const primary = await PostgresServer.start();
      site.finally(() => primary.remove());
      const standby = await primary.standby();
      site.finally(() => standby.remove());
      await primary.createDatabase('jobs');
      const url = primary.url('jobs', [standby]);
      await (await inPostgres()).initStore(url);
      await site.central();
      await site.scheduler('s0', { env: { GOSHAWK_JOURNAL: url } });
      await site.worker('w0');
      await site.joined(1, 1);
      return {
        processes: 3,
        async make() {
          primary.kill();
          await load(site, { tasks: [{ sleep: 1 }] }, 1_000);
        },
        end: () => standby.promote(),
      };
    },
  },
  {
    name: 'estimator-throws',
    alert: 'GoshawkEstimatorFailed',
    cause: /"event":"estimator-failed"/,
    runbook: 'goshawk central --estimator auto',
    async build(site) {
      const file = join(site.folder, 'estimator-throws.mjs');
      const unused = 'savedCharactersMax: 1, weigh() {}, learn() {}, save() {}, load() {}';
      writeFileSync(
        file,
        `export default { title: 'x', make: () => ({ name: 'x', ${unused}, predict() { throw new Error('lost'); } }) };`,
      );
      const args = ['--estimator', file];
      await site.central({ args });
      await Promise.all([site.scheduler('s0', { args }), site.worker('w0')]);
      await site.joined(1, 1);
      return {
        processes: 3,
        make: () => load(site, { tasks: [{ sleep: 10 }] }, 500),
        async end() {
          await site.kill('central');
          await site.central();
        },
        isOver: () => site.joined(1, 1),
      };
    },
  },
  {
    name: 'policy-throws',
    alert: 'GoshawkPolicyFailed',
    cause: /"event":"policy-failed"/,
    runbook: 'goshawk central --policy goshawk',
    async build(site) {
      const file = join(site.folder, 'throws.mjs');
      const plan = "plan(cluster) { if ([...cluster.jobs].length > 0) throw new Error('lost my way'); }";
      writeFileSync(
        file,
        `export default { title: 'x', declares: false, options: {}, make: () => ({ update() {}, ${plan} }) };`,
      );
      await site.central({ args: ['--policy', file] });
      await Promise.all([site.scheduler('s0'), site.worker('w0')]);
      await site.joined(1, 1);
      return {
        processes: 3,
        make: () => load(site, { tasks: [{ sleep: 10 }] }, 500),
        async end() {
          await site.kill('central');
          await site.central();
        },
        isOver: () => site.joined(1, 1),
      };
    },
  },
];

/** Submits a job repeatedly, although submissions may fail. @returns a function that stops it */
async function load(site: IncidentCluster, job: JobSubmission, everyMs: number): Promise<() => void> {
  const client = await site.client();
  const isOver = new AbortController();
  const submit = async (cluster: Cluster): Promise<void> => {
    while (!isOver.signal.aborted) {
      void cluster.submit(job, { signal: isOver.signal }).catch(() => {});
      await pause(everyMs);
    }
  };
  const done = submit(client);
  const stop = (): void => isOver.abort();
  site.finally(async () => {
    stop();
    await done;
    await client.close();
  });
  return stop;
}
