import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, JobSubmission } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { PostgresServer } from '@goshawk/journal/testing';
import { until } from '../daemons.js';
import {
  fillDisk,
  limitDescriptors,
  limitFiles,
  mountDisk,
  otherProtocol,
  slowDisk,
  TcpProxy,
} from './faults.js';
import type { Incident } from './play.js';
import { type IncidentCluster, NO_ANSWER } from './site.js';

/** A cluster with a process that is killed, or hangs, and is then restarted. */
function dies(
  name: 'w1' | 's0' | 'central',
  how: 'SIGKILL' | 'SIGSTOP',
  row: Pick<Incident, 'alert' | 'event' | 'answer'> & Partial<Incident>,
): Incident {
  const role = roleOf(name);
  const why = how === 'SIGKILL' ? ENDED : HANGS;
  return {
    ...row,
    name: `${role}-${how === 'SIGKILL' ? 'killed' : 'hung'}`,
    log: name === 'central' ? new RegExp(`"event":"central-silent".*${why}`) : lost(role, name, why),
    unready: { ...gone(name), ...(name === 'central' ? apart('w0', 'w1', 'w2') : {}) },
    runbook: `goshawk ${role}`,
    async build(site) {
      await site.usual();
      const job = await site.pinned('w1');
      return {
        processes: 5,
        job: () => job,
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
function partitioned(
  name: 'w1' | 's1',
  row: Pick<Incident, 'alert' | 'event' | 'answer'> & Partial<Incident>,
): Incident {
  const role = roleOf(name);
  return {
    ...row,
    name: `${role}-partitioned`,
    log: new RegExp(`^${name}: .*"event":"central-silent".*does not answer`),
    runbook: 'goshawk logs --daemons --event central-silent',
    async build(site) {
      const [ofCentral, ofOne] = [await TcpProxy.lay(site), await TcpProxy.lay(site)];
      await site.central({ args: ofCentral.options });
      await Promise.all([site.scheduler('s0'), site.worker('w0')]);
      await site[role === 'worker' ? 'worker' : 'scheduler'](name, { args: ofOne.options });
      await site.joined(role === 'worker' ? 2 : 1, role === 'worker' ? 1 : 2);
      const job = await site.pinned(role === 'worker' ? name : 'w0');
      return {
        processes: 4,
        job: () => job,
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

function roleOf(name: string): 'central' | 'scheduler' | 'worker' {
  return name === 'central' ? 'central' : name.startsWith('s') ? 'scheduler' : 'worker';
}

/** These processes do not answer. */
function gone(...names: readonly string[]): Record<string, RegExp> {
  return Object.fromEntries(names.map((name) => [name, new RegExp(`^${NO_ANSWER}$`)]));
}

/** Commands of a user whose tasks wait, or whose job is refused. */
const WHY = ['why'] as const;
const WHY_JOB = ['why', 'JOB'] as const;
const SUBMIT = ['submit', '--sleep', '1ms'] as const;
const NO_W1 = { command: WHY_JOB, says: /no worker has node=w1/ };
const noAnswerFrom = (scheduler: string) => ({
  command: WHY,
  says: new RegExp(`no answer.*scheduler ${scheduler}|scheduler ${scheduler} [^;]*is not running`, 's'),
});
/** Workers that cannot reach central, after a lease. */
const apart = (...names: readonly string[]): Record<string, RegExp> =>
  Object.fromEntries(names.map((name) => [name, /it has lost its cluster: central at .* does not answer/]));
const NO_CENTRAL = { command: WHY, says: /central +does not respond/, via: 's0' };
const RESTARTED = /central started again after its process had ended unexpectedly/;

/** A new connection distinguishes a process that ended from one that hangs. */
const lost = (role: string, name: string, why: string): RegExp =>
  new RegExp(`"event":"loss-diagnosed".*${role} ${name}, just lost: .*${why}`);
const ENDED = 'its process has ended';
const HANGS = 'no process responds: it hangs';

/** Incidents that page an operator. */
export const INCIDENTS: readonly Incident[] = [
  dies('w1', 'SIGKILL', {
    alert: 'GoshawkWorkersLost',
    event: /worker w1, just lost: .*its process has ended/,
    answer: NO_W1,
    isTested: true,
  }),
  dies('w1', 'SIGSTOP', {
    alert: 'GoshawkWorkersLost',
    event: /worker w1, just lost: .*it hangs/,
    answer: NO_W1,
  }),
  dies('s0', 'SIGKILL', {
    alert: 'GoshawkSchedulerAway',
    event: /scheduler s0, just lost: .*its process has ended/,
    answer: noAnswerFrom('s0'),
    isTested: true,
  }),
  dies('s0', 'SIGSTOP', {
    alert: 'GoshawkSchedulerAway',
    event: /scheduler s0, just lost: .*it hangs/,
    answer: noAnswerFrom('s0'),
  }),
  dies('central', 'SIGKILL', { alert: 'GoshawkCentralAway', event: RESTARTED, answer: NO_CENTRAL }),
  dies('central', 'SIGSTOP', {
    alert: 'GoshawkCentralAway',
    event: RESTARTED,
    answer: NO_CENTRAL,
    isTested: true,
  }),
  partitioned('w1', {
    alert: 'GoshawkWorkersLost',
    event: /worker w1 is lost/,
    answer: NO_W1,
    unready: apart('w1'),
    isTested: true,
  }),
  partitioned('s1', {
    alert: 'GoshawkSchedulerAway',
    event: /scheduler s1 is lost/,
    answer: noAnswerFrom('s1'),
  }),
  {
    name: 'all-workers-killed',
    alert: 'GoshawkNoWorkers',
    log: lost('worker', 'w1', ENDED),
    event: /worker w1 is lost/,
    answer: { command: WHY, says: /the cluster has no workers/ },
    unready: gone('w0', 'w1', 'w2'),
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
    log: /"event":"schedulers-missing".*missing: s0/,
    event: /missing: s0/,
    answer: { command: WHY, says: /no answer.*s0, not connected since central started/s },
    unready: gone('s0'),
    isTested: true,
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
    log: /^s0: .*no new jobs are accepted.*disk/,
    event: /no new jobs are accepted: the disk of .* is full/,
    answer: { command: SUBMIT, says: /the disk of .* is full/ },
    unready: { s0: /the disk of .* is full.*: no new jobs are accepted/ },
    needs: 'mount',
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
    log: /^s0: .*"level":60.*the journal cannot be written/,
    event: /scheduler s0 is lost/,
    answer: noAnswerFrom('s0'),
    unready: gone('s0'),
    needs: 'prlimit',
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
    lingers: true,
    log: /^s0: .*"event":"journal-slow"/,
    needs: 'strace',
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
    lingers: true,
    log: /^w1: .*rejects this process.s key/,
    event: /worker w1 is lost/,
    answer: NO_W1,
    unready: { w1: /has not joined its cluster: .*rejects this process.s key/ },
    isTested: true,
    runbook: 'goshawk keygen',
    async build(site) {
      await site.secure();
      await site.usual();
      const job = await site.pinned('w1');
      return {
        processes: 5,
        job: () => job,
        async make() {
          await site.command('keygen', 'other-keys');
          await site.kill('w1');
          await site.worker('w1', { args: ['--keys', site.keysOf('worker', 'other-keys')] });
        },
        async end() {
          await site.kill('w1');
          await site.worker('w1');
        },
      };
    },
  },
  {
    name: 'foreign-clients',
    alert: 'GoshawkConnectionsRejected',
    lingers: true,
    log: /^central: .*refused connections|^central: .*rejected connections/,
    isTested: true,
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
      };
    },
  },
  {
    name: 'flood',
    alert: 'GoshawkOverloaded',
    log: /^s0: .*"event":"jobs-refused","reason":"jobs".*"users":\[\{"user":"u\d+"/,
    event: /new jobs are refused: the limit of active jobs/,
    answer: { command: SUBMIT, says: /holds 20 active jobs, which is its limit/ },
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
          // A few users never reach the limit of all, because each leaves room for others.
          let user = 0;
          stop = await load(site, () => ({ user: `u${user++ % 40}`, tasks: [{ sleep: 600_000 }] }), 200);
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
    log: /^bad: .*a task could not be started: the command ."the-tool." is not in the worker.s PATH/,
    event: /worker bad is quarantined/,
    answer: { command: ['workers'], says: /bad .*quarantined/ },
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
    log: /^s0: .*"event":"attempt-failed".*on w[012]: failed .exit code 1/,
    answer: { command: WHY_JOB, says: /exit code 1/, stays: true },
    runbook: 'goshawk jobs --state failed',
    async build(site) {
      await site.usual();
      let stop = (): void => {};
      const job = await site.pinned('w0', { exec: ['false'] });
      return {
        processes: 5,
        job: () => job,
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
    log: /"event":"schedulers-missing".*missing: s[01]/,
    event: /missing: s[01]/,
    answer: { command: WHY, says: /no answer.*s[01]/s },
    needs: 'postgres',
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
          await site.kill('central', 'w0');
          await site.remove('s0', 's1');
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
    name: 'data-folder-moved',
    alert: 'GoshawkJournalLost',
    log: /^s0: .*no new jobs are accepted: .*(removed or replaced|ENOENT)/,
    event: /no new jobs are accepted: .*(removed or replaced|ENOENT)/,
    answer: { command: SUBMIT, says: /removed or replaced|ENOENT/ },
    unready: { s0: /(removed or replaced|ENOENT).*: no new jobs are accepted/ },
    runbook: 'move it back',
    isTested: true,
    async build(site) {
      await site.usual();
      const [place, elsewhere] = [join(site.folder, 's0'), join(site.folder, 'moved')];
      return {
        processes: 5,
        make: () => renameSync(place, elsewhere),
        end: () => renameSync(elsewhere, place),
      };
    },
  },
  {
    name: 'wrong-option',
    alert: 'GoshawkSchedulerAway',
    log: /^s0: .*GOSHAWK_KEEP_JOBS: \\?"10k\\?" is not a whole number/,
    event: /scheduler s0 left with 1 job/,
    answer: noAnswerFrom('s0'),
    unready: gone('s0'),
    runbook: 'goshawk scheduler',
    async build(site) {
      const how = { env: { GOSHAWK_DRAIN_TIMEOUT: '0s' } };
      await site.central();
      await Promise.all([site.scheduler('s0', how), site.worker('w0')]);
      await site.joined(1, 1);
      await site.pinned('w0');
      return {
        processes: 3,
        async make() {
          site.daemon('s0').signal('SIGTERM');
          await site.daemon('s0').ended;
          await site.scheduler('s0', { env: { ...how.env, GOSHAWK_KEEP_JOBS: '10k' } }).catch(() => {});
        },
        end: () => site.scheduler('s0', how),
      };
    },
  },
  {
    name: 'worker-disk-full',
    alert: 'GoshawkWorkersQuarantined',
    log: /"event":"worker-quarantined".*worker w1 is quarantined: the disk of .* is full/,
    event: /worker w1 is quarantined: the disk of .* is full/,
    answer: { command: WHY_JOB, says: /drained or (in )?quarantine/ },
    runbook: 'df -h',
    needs: 'mount',
    async build(site) {
      const disk = mountDisk(site, 64);
      await site.central();
      await site.scheduler('s0');
      await Promise.all([site.worker('w0'), site.worker('w1', { env: { TMPDIR: disk } })]);
      await site.joined(2, 1);
      const filler = join(disk, 'filler');
      let job = '';
      return {
        processes: 4,
        job: () => job,
        async make() {
          await site.pinned('w1', { exec: ['dd', 'if=/dev/zero', `of=${filler}`, 'bs=1M'] });
          await until(() => site.logged(/quarantined: the disk/).length > 0);
          job = await site.pinned('w1');
        },
        end: () => rmSync(filler),
      };
    },
  },
  {
    name: 'descriptors-short',
    alert: 'GoshawkDescriptorsShort',
    log: /^central: .*"event":"descriptors-short"/,
    runbook: 'ulimit -n',
    needs: 'prlimit',
    async build(site) {
      await site.usual();
      return {
        processes: 5,
        make: () => limitDescriptors(site.daemon('central').pid, 5),
        end: () => limitDescriptors(site.daemon('central').pid, 1_000),
      };
    },
  },
  {
    name: 'wrong-upgrade',
    alert: 'GoshawkVersionMismatch',
    lingers: true,
    log: /protocol version \d+; this process speaks version \d+/,
    event: /central started/,
    answer: { command: WHY, says: /speaks (a )?protocol version/ },
    unready: apart('w0', 'w1', 'w2'),
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
      };
    },
  },
  {
    name: 'postgres-failover',
    alert: 'GoshawkJournalAway',
    log: /^s0: .*no new jobs are accepted: postgres:.*does not answer/,
    event: /no new jobs are accepted: postgres:.*does not answer/,
    answer: { command: SUBMIT, says: /does not answer/ },
    unready: { s0: /does not answer.*: no new jobs are accepted/ },
    needs: 'postgres',
    isTested: true,
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
    name: 'postgres-connections',
    alert: 'GoshawkJournalAway',
    log: /^s0: .*no new jobs are accepted: postgres:.*too many connections for role/,
    event: /no new jobs are accepted: postgres:.*too many connections for role/,
    answer: { command: SUBMIT, says: /too many connections for role/ },
    unready: { s0: /too many connections for role.*: no new jobs are accepted/ },
    runbook: 'rolconnlimit',
    needs: 'postgres',
    isTested: true,
    async build(site) {
      const server = await PostgresServer.start({ settings: { fsync: 'off' } });
      site.finally(() => server.remove());
      const url = await server.createDatabase('jobs');
      await (await inPostgres()).initStore(url);
      await server.sql('create role limited login in role goshawk');
      await site.central();
      await site.scheduler('s0', { env: { GOSHAWK_JOURNAL: url.replace('goshawk@', 'limited@') } });
      await site.worker('w0');
      await site.joined(1, 1);
      return {
        processes: 3,
        async make() {
          await server.sql('alter role limited connection limit 0');
          await server.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'limited'",
          );
        },
        end: () => server.sql('alter role limited connection limit -1'),
      };
    },
  },
  {
    name: 'estimator-throws',
    alert: 'GoshawkEstimatorFailed',
    lingers: true,
    log: /"event":"estimator-failed"/,
    isTested: true,
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
      };
    },
  },
  {
    name: 'policy-throws',
    alert: 'GoshawkPolicyFailed',
    lingers: true,
    log: /"event":"policy-failed"/,
    answer: {
      command: WHY,
      says: /the policy .* fails, so tasks start in order of arrival: Error: lost my way/,
    },
    isTested: true,
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
      };
    },
  },
];

/** Submits a job repeatedly, although submissions may fail. @returns a function that stops it */
async function load(
  site: IncidentCluster,
  job: JobSubmission | (() => JobSubmission),
  everyMs: number,
): Promise<() => void> {
  const client = await site.client();
  const isOver = new AbortController();
  const submit = async (cluster: Cluster): Promise<void> => {
    while (!isOver.signal.aborted) {
      void cluster.submit(typeof job === 'function' ? job() : job, { signal: isOver.signal }).catch(() => {});
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
