import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect, type JobHandle, type TaskRow } from '@goshawk/client';
import { freePort } from '@goshawk/journal/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

const PROGRAMS = ['useradd', 'setpriv', 'prlimit', 'runuser', 'bwrap', 'perl', 'pgrep'];
const has = (program: string) =>
  ['/usr/bin', '/usr/sbin', '/bin', '/sbin'].some((at) => existsSync(join(at, program)));
const isPossible = process.platform === 'linux' && process.getuid?.() === 0 && PROGRAMS.every(has);

const [ANN, BOB, MALLORY] = ['ann', 'bob', 'mal'].map((name) => `gh${name}${process.pid}`) as [
  string,
  string,
  string,
];
const ACCOUNTS = [ANN, BOB, MALLORY];
const LIMITS_FILE = `/etc/security/limits.d/goshawk-test-${process.pid}.conf`;
/** Appears in everything that belongs to the other two accounts. */
const MARKER = randomBytes(12).toString('hex');
/** Exit code of a blocked access. */
const IN_VAIN = 77;

const WAIT = { timeout: 60_000, interval: 100 };

let homes: Readonly<Record<string, string>> = {};
let cluster: TestCluster;
let clients: Readonly<Record<string, Cluster>> = {};
/** The other two accounts: job that runs, its process, job that has ended. */
let victims: readonly {
  readonly home: string;
  readonly running: JobHandle;
  readonly pid: number;
  readonly ended: JobHandle;
}[] = [];
let httpPort = 0;
let auditFolder = '';

/** @returns the error of a request, without the id of the job */
async function errorOf(request: (job: JobHandle) => Promise<unknown>, job: JobHandle) {
  try {
    await request(job);
    return undefined;
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return { code, message: message.replaceAll(job.id, 'ID') };
  }
}

/** A script of `sh`, whose success would be a breach. */
const attempt = (script: string) => `(${script}) 2>/dev/null && exit 0; exit ${IN_VAIN}`;

/** Holds a socket, files and variables, and prints. */
const VICTIM = `umask 077; echo ${MARKER} >secret; echo ${MARKER} >/tmp/$USER.tmp; echo ${MARKER} >/dev/shm/$USER.shm; echo ${MARKER}
exec perl -MIO::Socket::UNIX -e 'unlink "sock"; $s = IO::Socket::UNIX->new(Local => "sock", Listen => 1) or die; sleep 3600' holder-${MARKER}-$USER`;

async function settle(client: Cluster, home: string, user: string) {
  const spec = { name: `nightly-${MARKER}`, env: { TOKEN: MARKER } };
  const exec = ['sh', '-c', VICTIM] as [string, ...string[]];
  const running = await client.submit({
    name: spec.name,
    key: 'nightly',
    tasks: [{ exec, cwd: home, env: spec.env }],
  });
  const ended = await client.submit({
    name: `done-${MARKER}`,
    tasks: [{ exec: ['sh', '-c', `echo ${MARKER}; echo '"${MARKER}"' >$GOSHAWK_RESULT; exit 1`], cwd: home }],
  });
  await ended.wait();
  const pattern = `holder-${MARKER}-${user}$`;
  await vi.waitFor(() => expect(pidsOf(pattern)).not.toEqual([]), WAIT);
  await vi.waitFor(() => expect(existsSync(join(home, 'sock'))).toBe(true), WAIT);
  return { home, running, pid: pidsOf(pattern).at(-1)!, ended };
}

async function rowsOf(job: JobHandle): Promise<TaskRow[]> {
  const rows: TaskRow[] = [];
  for await (const row of job.tasks()) rows.push(row);
  return rows;
}

function pidsOf(pattern: string): number[] {
  const { stdout } = spawnSync('pgrep', ['-f', pattern], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

describe.runIf(isPossible).each(['user', 'sandbox'] as const)(
  'one of three accounts, with tasks run as %s,',
  (runAs) => {
    beforeAll(async () => {
      for (const name of ACCOUNTS) {
        const home = `/home/${name}`;
        execFileSync('useradd', ['--create-home', '--home-dir', home, '--shell', '/bin/sh', name]);
        chmodSync(home, 0o700);
        homes = { ...homes, [name]: home };
      }
      const limits = ['nproc 60', 'nofile 128', 'fsize 65536'];
      writeFileSync(
        LIMITS_FILE,
        ACCOUNTS.flatMap((name) => limits.map((limit) => `${name} hard ${limit}\n`)).join(''),
      );
      httpPort = await freePort();
      auditFolder = mkdtempSync(join(tmpdir(), 'goshawk-audit-'));
      const auditFile = join(auditFolder, 'audit.jsonl');
      cluster = await TestCluster.start([
        ...['--secure', '--run-as', runAs, '--workers', '2', '--slots', '2'],
        ...['--http', `127.0.0.1:${httpPort}`, '--dashboard', '--audit-log', auditFile],
      ]);
      const keys = join(cluster.folder, 'data', 'keys');
      chmodSync(cluster.folder, 0o755);
      for (const name of ACCOUNTS) {
        expect((await cluster.goshawk(['keygen', 'client', name, keys])).exitCode).toBe(0);
        const file = join(homes[name]!, 'client.key');
        copyFileSync(join(keys, `client.${name}.key`), file);
        const [uid, gid] = ['-u', '-g'].map((flag) =>
          Number(execFileSync('id', [flag, name], { encoding: 'utf8' })),
        );
        chownSync(file, uid!, gid!);
        chmodSync(file, 0o600);
        await vi.waitFor(async () => {
          const client = await connect(cluster.url, { keys: file });
          clients = { ...clients, [name]: client };
        }, WAIT);
      }
      victims = await Promise.all([ANN, BOB].map((name) => settle(clients[name]!, homes[name]!, name)));
    });

    afterAll(async () => {
      for (const { running } of victims) await running.cancel().catch(() => {});
      for (const client of Object.values(clients)) await client.close();
      clients = {};
      await cluster?.stop();
      rmSync(auditFolder, { recursive: true, force: true });
      rmSync(LIMITS_FILE, { force: true });
      for (const name of ACCOUNTS) {
        spawnSync('pkill', ['-KILL', '-u', name]);
        rmSync(`/dev/shm/${name}.shm`, { force: true });
        rmSync(`/tmp/${name}.tmp`, { force: true });
        execFileSync('userdel', ['--remove', name], { stdio: 'pipe' });
      }
    });

    /** Scripts of a task or another process of the account, whose success would be a breach. */
    function scripts(): Record<string, string> {
      const [{ home, pid }, { home: other, pid: otherPid }] = victims as [
        (typeof victims)[number],
        (typeof victims)[number],
      ];
      const data = join(cluster.folder, 'data');
      const up = cluster.children();
      const worker = up.find(({ command }) => / worker /.test(command))!.pid;
      const spawner = pidsOf('goshawk-spawner')[0] ?? worker;
      const trace = process.arch === 'arm64' ? 117 : 101;
      const perl = (code: string) => `perl -MIO::Socket::UNIX -MIO::Socket::INET -e '${code}'`;
      return {
        'read a file': `grep -q ${MARKER} ${home}/secret`,
        'read a file of the second account': `grep -q ${MARKER} ${other}/secret`,
        'list a home folder': `ls ${home}`,
        'write into a home folder': `touch ${home}/mine`,
        'link to a file': `cd; ln ${home}/secret mine`,
        'read a client’s key': `cat ${home}/client.key`,
        'read the keys of the cluster': `cat ${data}/keys/*`,
        'read the worker’s key': `find /tmp /home ${cluster.folder} -name "worker*.key" -readable -print -quit | grep -q .`,
        'list the data folder': `ls ${data}`,
        'read the journals': `grep -rqa ${MARKER} ${data}`,
        'read the logs of daemons': `ls ${data}/logs`,
        'read the token of HTTP': `cat ${data}/http.token`,
        'read the shadow file': 'cat /etc/shadow',
        'read variables of a task': `grep -qa ${MARKER} /proc/${pid}/environ`,
        'read variables of the worker': `grep -qa . /proc/${worker}/environ`,
        'read the memory of a task': `true </proc/${otherPid}/mem`,
        'see the folder of a task': `ls /proc/${pid}/cwd/secret`,
        'see open files of a task': `ls /proc/${pid}/fd/0`,
        'kill a task': `grep -qa ${MARKER} /proc/${pid}/cmdline && kill -9 ${pid}`,
        'stop a task': `grep -qa ${MARKER} /proc/${otherPid}/cmdline && kill -STOP ${otherPid}`,
        'kill every process that it may, and hit others': `kill -0 ${pid} && grep -qa ${MARKER} /proc/${pid}/cmdline`,
        'kill the worker': `kill -9 ${worker} && [ ! -d /proc/${worker} ]`,
        'kill the spawner': `kill -9 ${spawner} && [ ! -d /proc/${spawner} ]`,
        'trace a task': perl(`exit(syscall(${trace}, 16, ${pid}, 0, 0) == 0 ? 0 : 1)`),
        'change the priority of a task': `grep -qa ${MARKER} /proc/${pid}/cmdline && renice -n 5 -p ${pid}`,
        'change the limits of a task': `grep -qa ${MARKER} /proc/${pid}/cmdline && prlimit --pid ${pid} --nofile=1:1`,
        'connect to a socket': perl(`exit(IO::Socket::UNIX->new(Peer => "${home}/sock") ? 0 : 1)`),
        'read a temporary file': `grep -q ${MARKER} /tmp/${ANN}.tmp`,
        'delete a temporary file': `rm /tmp/${BOB}.tmp`,
        'read shared memory': `grep -q ${MARKER} /dev/shm/${ANN}.shm`,
        'become another account': `setpriv --reuid ${ANN} --regid ${ANN} --clear-groups cat ${home}/secret`,
        'become root': 'setpriv --reuid 0 true',
        'enter a namespace of its own and read a file': `unshare -r cat ${home}/secret`,
        'enter the namespaces of a task': `nsenter -t ${pid} -m -- cat ${home}/secret`,
        'give a file to another account': `cd; touch gift; chown ${ANN} gift`,
        'write to system folders': 'touch /etc/goshawk-mine',
        'change the schedule of another account': `echo "* * * * * true" | crontab -u ${ANN} -`,
        'fork without end': 'i=0; while [ $i -lt 200 ]; do sleep 3 & i=$((i+1)); done',
        'open files without end': perl(
          'for (1..500) { open(my $f, "<", "/dev/null") or exit 1; push @f, $f }',
        ),
        'fill the disk with one file':
          'head -c 100000000 /dev/zero >"$HOME/full" && rm "$HOME/full"; r=$?; rm -f "$HOME/full"; exit $r',
      };
    }

    test('cannot attack the other two from a task', async () => {
      const all = Object.entries(scripts());
      expect(all.length).toBeGreaterThanOrEqual(40);
      const isForker = ([name]: readonly [string, string]) => name.startsWith('fork');
      // Processes that it starts count against the limit of the others.
      for (const some of [all.filter((each) => !isForker(each)), all.filter(isForker)]) {
        const job = await clients[MALLORY]!.submit({
          name: 'attack',
          tasks: some.map(([, script]) => ({
            exec: ['sh', '-c', attempt(script)] as [string, ...string[]],
            cwd: homes[MALLORY]!,
          })),
        });
        await job.wait();
        const outcomes = (await rowsOf(job)).map(({ exitCode, error }, task) => [
          some[task]![0],
          exitCode === IN_VAIN ? 'in vain' : (error ?? 'a breach'),
        ]);
        expect(outcomes).toEqual(some.map(([name]) => [name, 'in vain']));
      }
      for (const { pid } of victims)
        expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).not.toMatch(/\) [TZ] /);
    });

    test('cannot attack the other two from another process on the machine', () => {
      for (const [name, script] of Object.entries(scripts())) {
        // Limits apply to tasks and logins, not to this process.
        if (/without end|fill/.test(name)) continue;
        const { status } = spawnSync('runuser', ['-u', MALLORY, '--', 'sh', '-c', attempt(script)], {
          cwd: homes[MALLORY]!,
          encoding: 'utf8',
        });
        expect([name, status]).toEqual([name, IN_VAIN]);
      }
    });

    test('would get through with the rights of root, so the attempts are real', () => {
      for (const [name, script] of Object.entries(scripts())) {
        if (!/^(read|see|list|connect)/.test(name)) continue;
        // A sandbox contains only these files.
        if (runAs === 'sandbox' && /temporary|shared/.test(name)) continue;
        const { status } = spawnSync('sh', ['-c', attempt(script)], { cwd: homes[MALLORY]! });
        expect([name, status]).toEqual([name, 0]);
      }
    });

    test('cannot use their folders by jobs that name them', async () => {
      const home = homes[ANN]!;
      const tasks = [
        { exec: ['cat', `${home}/secret`] as [string, ...string[]], cwd: home },
        { exec: ['echo', 'x'] as [string, ...string[]], cwd: homes[MALLORY]!, stdout: `${home}/planted` },
        { exec: ['true'] as [string, ...string[]], cwd: join(cluster.folder, 'data') },
      ];
      const job = await clients[MALLORY]!.submit({ name: 'folders', tasks });
      await job.wait();
      const ended = await rowsOf(job);
      expect(ended.map(({ state }) => state)).toEqual(tasks.map(() => 'failed'));
      expect(existsSync(join(home, 'planted'))).toBe(false);
      expect(`${(await job.output(0)).stdout}`).not.toContain(MARKER);
    });

    test('gets the answer of an unknown job for every request about theirs', async () => {
      const mallory = clients[MALLORY]!;
      const requests: Record<string, (job: JobHandle) => Promise<unknown>> = {
        describe: (job) => job.describe({ spec: true }),
        explain: (job) => job.explain(),
        tasks: (job) => job.tasksPage(),
        results: (job) => job.resultsPage(),
        output: (job) => job.output(0),
        logs: async (job) => {
          for await (const _ of job.logs()) break;
        },
        events: async (job) => {
          for await (const _ of job.events()) break;
        },
        wait: (job) => job.wait(),
        cancel: (job) => job.cancel(),
        'cancel tasks': (job) => job.cancelTasks([0]),
        hold: (job) => job.hold(),
        priority: (job) => job.update({ priority: 'high' }),
        retry: (job) => job.retry(),
      };
      for (const { running, ended } of victims)
        for (const [name, request] of Object.entries(requests)) {
          const ids = [ended.id.replace(/\d+$/, '999999'), running.id, ended.id];
          const [none, ...foreign] = await Promise.all(ids.map((id) => errorOf(request, mallory.job(id))));
          expect([name, ...foreign]).toEqual([name, none, none]);
          expect(none).toMatchObject({ code: 'unknown-job' });
        }
      for (const { running } of victims) expect((await running.describe()).state).toBe('running');
    });

    test('cannot see, guess or use resources of others', async () => {
      const mallory = clients[MALLORY]!;
      const { jobs } = await mallory.jobs({ all: true });
      expect(jobs.map(({ name }) => name).join()).not.toContain(MARKER);
      const filtered = await mallory.jobs({ all: true, user: ANN });
      expect(filtered.jobs).toEqual([]);
      const { rows } = await mallory.usage({ by: ['user', 'name'] });
      expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${MARKER}|${ANN}|${BOB}`));
      // The same key of a submission is another job.
      const same = await mallory.submit({ name: 'mine', key: 'nightly', tasks: [{ sleep: 1 }] });
      expect(victims.map(({ running }) => running.id)).not.toContain(same.id);
      const posed = await mallory.submit({
        name: 'posed',
        user: ANN,
        tasks: [{ exec: ['id', '-un'], cwd: '/' }],
      });
      await posed.wait();
      expect(`${(await posed.output(0)).stdout}`).toBe(`${MALLORY}\n`);
      const cancelled = await mallory.cancelJobs({ all: true }).catch(() => ({ jobs: 0 }));
      expect(cancelled.jobs).toBe(0);
      for (const refused of [
        () => mallory.drain('w0'),
        () => mallory.takeOverFrom('s0'),
        () => mallory.shares(),
      ])
        await expect(refused()).rejects.toMatchObject({ code: 'not-allowed' });
    });

    test('cannot join as a process of the cluster, nor do anything without a key', async () => {
      const key = join(homes[MALLORY]!, 'client.key');
      const worker = await cluster.goshawk(['worker', '--central-url', cluster.url, '--keys', key]);
      expect(worker.exitCode).toBe(2);
      const environment = { XDG_STATE_HOME: homes[MALLORY]!, GOSHAWK_CLUSTER: cluster.url };
      const keyless = await cluster.goshawk(['jobs', '--all', '--cluster', cluster.url], {
        environment,
        cwd: '/',
      });
      expect(keyless.exitCode).not.toBe(0);
      expect(keyless.stdout).not.toContain(MARKER);
    });

    test('gets nothing over HTTP without a token', async () => {
      for (const path of ['/metrics', '/status', '/targets']) {
        const { status } = await fetch(`http://127.0.0.1:${httpPort}${path}`);
        expect([path, status]).toEqual([path, 401]);
      }
      const page = new URL(cluster.dashboard!);
      for (const path of ['/v1/jobs', '/v1/usage', `/v1/jobs/${victims[0]!.running.id}`, '/v1/workers']) {
        const { status } = await fetch(`${page.origin}${path}`);
        expect([path, status]).toEqual([path, 401]);
      }
    });

    test('leaves a trace in the audit log with its key, address and object', async () => {
      const mallory = clients[MALLORY]!;
      const job = await mallory.submit({ name: 'audited', tasks: [{ exec: ['false'], cwd: '/' }] });
      await job.wait();
      await job.retry();
      await job.cancel();
      await mallory.drain('w0').catch(() => {});
      await mallory.takeOverFrom('s0').catch(() => {});
      await mallory
        .job(victims[0]!.running.id)
        .cancel()
        .catch(() => {});
      const expected = [
        { action: 'submit', outcome: 'done', job: job.id, name: 'audited' },
        { action: 'retry', outcome: 'done', job: job.id },
        { action: 'cancel', outcome: 'done', job: job.id },
        { action: 'drain', outcome: 'refused', code: 'not-allowed', worker: 'w0' },
        { action: 'takeover', outcome: 'refused', code: 'not-allowed', scheduler: 's0' },
        { action: 'cancel', outcome: 'refused', code: 'unknown-job', job: victims[0]!.running.id },
      ].map((line) => expect.objectContaining({ ...line, key: MALLORY, from: '127.0.0.1' }));
      const keyChange = { action: 'keys', outcome: 'done', added: [MALLORY], by: 'central' };
      await vi.waitFor(() => {
        const lines = readFileSync(join(auditFolder, 'audit.jsonl'), 'utf8').trimEnd().split('\n');
        const entries = lines.map((line) => JSON.parse(line) as object);
        expect(entries).toEqual(expect.arrayContaining([...expected, expect.objectContaining(keyChange)]));
        expect(lines.join()).not.toContain(`"${MARKER}"`);
      }, WAIT);
    });

    test('can run the same commands on its own jobs', async () => {
      const own = [
        `umask 077; cd; echo ${MARKER} >secret; grep -q ${MARKER} secret; rm secret`,
        'touch /tmp/$USER.own; rm /tmp/$USER.own',
        'sleep 60 & kill -9 $!',
        'cat /proc/self/environ >/dev/null',
        'cd; touch a; ln a b; rm a b',
        'i=0; while [ $i -lt 10 ]; do true & i=$((i+1)); done; wait',
        'head -c 1000000 /dev/zero >"$HOME/some"; rm "$HOME/some"',
      ];
      const tasks = own.map((script) => ({
        exec: ['sh', '-ec', script] as [string, ...string[]],
        cwd: homes[MALLORY]!,
      }));
      const job = await clients[MALLORY]!.submit({ name: 'own', tasks });
      await job.wait();
      const ended = await rowsOf(job);
      expect(ended.map(({ state }, task) => [own[task], state])).toEqual(
        own.map((script) => [script, 'completed']),
      );
    });
  },
);
