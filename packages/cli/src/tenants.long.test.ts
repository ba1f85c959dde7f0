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
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

const PROGRAMS = [
  'useradd',
  'setpriv',
  'prlimit',
  'runuser',
  'bwrap',
  'perl',
  'pgrep',
  'taskset',
  'unshare',
  'nsenter',
];
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
const ATTACK_FAILED = 77;

const WAIT = { timeout: 60_000, interval: 100 };

let homes: Readonly<Record<string, string>> = {};
let cluster: TestCluster;
let clients: Readonly<Record<string, Cluster>> = {};
/** The other two accounts. */
let victims: readonly [Victim, Victim];
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

/** A script of `sh` that tries an attack, whose success would be a breach. */
const attempt = (variables: Readonly<Record<string, string>>, script: string) =>
  `${exported(variables)}\n(${script}) 2>/dev/null && exit 0; exit ${ATTACK_FAILED}`;

/** The same attack by an account on another process of this account, which must succeed. */
const control = (
  script: string,
) => `A=$(mktemp -d "$HOME/own.XXXXXX"); U=$(id -un); T=/tmp/own.$$; H=/dev/shm/own.$$
R=$A/result; export A U T H TOKEN=${MARKER}; ${exported(SMALL)}
GOSHAWK_RESULT=$R setsid sh -c '${VICTIM.replaceAll("'", `'"'"'`)}' >/dev/null 2>&1 & P=$!; G=$P; W=$P
i=0; until [ -S "$A/sock" ] || [ $i -gt 600 ]; do sleep 0.05; i=$((i+1)); done; export P G W R
(${script}); code=$?; kill -CONT $P 2>/dev/null; kill -9 $P 2>/dev/null; rm -rf "$A" "$T" "$H"; exit $code`;

const exported = (variables: Readonly<Record<string, string>>) =>
  `export ${Object.entries(variables)
    .map(([name, value]) => `${name}='${value}'`)
    .join(' ')}`;

/** Numbers of processes, files and bytes that exceed the limits of the accounts, and that do not. */
const MANY = { PROCESSES: '200', FILES: '500', BYTES: '100000000' };
const SMALL = { PROCESSES: '5', FILES: '5', BYTES: '1000' };

const perl = (code: string) => `perl -MIO::Socket::UNIX -e '${code}'`;
const TRACE = process.arch === 'arm64' ? 117 : 101;
/** Whether $P is the attacked process: in a sandbox, the number may mean another one. */
const IS_VICTIM_PROCESS = `grep -qa ${MARKER} /proc/$P/cmdline`;
const IS_WORKER_PROCESS = 'grep -qa goshawk /proc/$W/cmdline';

/**
 * Attacks, as scripts of `sh`, on an account with the folder $A, the name $U, the task $P of group $G, temporary files $T and $H and
 * the result $R. They succeed on one's own account.
 */
const ATTACKS: Readonly<Record<string, string>> = {
  'read a file': `grep -q ${MARKER} $A/secret`,
  'list a folder': 'ls $A',
  'write into a folder': 'touch $A/planted',
  'link to a file': 'cd; ln $A/secret link.$$ && rm link.$$',
  'read a client’s key': 'cat $A/client.key',
  'read the result of a task': `grep -q ${MARKER} $R`,
  'replace the result of a task': `echo '"false"' >$R`,
  'read variables of a task': `grep -qa ${MARKER} /proc/$P/environ`,
  'read the memory of a task': 'true </proc/$P/mem',
  'see the folder of a task': 'ls /proc/$P/cwd/secret',
  'see open files of a task': 'ls /proc/$P/fd/0',
  'see the memory map of a task': 'grep -q perl /proc/$P/maps',
  'kill a task': `${IS_VICTIM_PROCESS} && kill -9 $P`,
  'stop a task': `${IS_VICTIM_PROCESS} && kill -STOP $P`,
  'end the process group of a task': `${IS_VICTIM_PROCESS} && kill -TERM -$G`,
  'kill the worker': `${IS_WORKER_PROCESS} && kill -9 $W`,
  'trace a task': perl(`exit(syscall(${TRACE}, 16, $ENV{P} + 0, 0, 0) == 0 ? 0 : 1)`),
  'change the priority of a task': `${IS_VICTIM_PROCESS} && renice -n 5 -p $P`,
  'change the limits of a task': `${IS_VICTIM_PROCESS} && prlimit --pid $P --nofile=3:3`,
  'pin a task to a processor': `${IS_VICTIM_PROCESS} && taskset -pc $(taskset -pc $$ | sed 's/.*[ ,-]//') $P`,
  'connect to a socket': perl('exit(IO::Socket::UNIX->new(Peer => "$ENV{A}/sock") ? 0 : 1)'),
  'replace a socket': 'rm -f $A/sock && [ ! -e $A/sock ] && ls $A',
  'read a temporary file': `grep -q ${MARKER} $T`,
  'delete a temporary file': 'rm $T',
  'rename a temporary file': 'mv $T $T.moved && rm $T.moved',
  'read shared memory': `grep -q ${MARKER} $H`,
  'overwrite shared memory': '[ -e $H ] && echo x >$H',
  'become another account': 'setpriv --reuid $U --keep-groups cat $A/secret',
  'enter a separate namespace and read a file': 'unshare -r cat $A/secret',
  'give a file to another account': 'cd; touch gift.$$; chown $U gift.$$; r=$?; rm gift.$$; exit $r',
  'fork without end': 'i=0; while [ $i -lt $PROCESSES ]; do sleep 3 & i=$((i+1)); done',
  'open files without end': perl(
    'for (1..$ENV{FILES}) { open(my $f, "<", "/dev/null") or exit 1; push @f, $f }',
  ),
  'fill the disk with one file':
    'head -c $BYTES /dev/zero >"$HOME/full.$$"; r=$?; rm -f "$HOME/full.$$"; exit $r',
};

/** Attacks on what belongs to no account, with the data folder $D and the worker $W. They succeed with the rights of root. */
const ATTACKS_ON_CLUSTER: Readonly<Record<string, string>> = {
  'read the keys of the cluster': 'cat $D/keys/*',
  'find the worker’s key':
    'find /tmp /home -name "worker*.key" -readable -print -quit 2>/dev/null | grep -q .',
  'list the data folder': 'ls $D',
  'read the journals': `grep -rqa ${MARKER} $D`,
  'read the logs of daemons': 'ls $D/logs',
  'read the token of HTTP': 'cat $D/http.token',
  'read the audit log': 'cat $AUDIT',
  'read the shadow file': 'cat /etc/shadow',
  'read variables of the worker': 'grep -qa . /proc/$W/environ',
  'read the memory of the worker': 'true </proc/$W/mem',
  'see the connections of the worker': 'ls /proc/$W/fd/0',
  'become root': 'setpriv --reuid 0 --keep-groups true',
  'enter the namespaces of a task': 'nsenter -t $P -m -- cat $A/secret',
  'write to system folders': 'touch /etc/goshawk.$$ && rm /etc/goshawk.$$',
};

/** Processes that it starts count against the limit of the account's other tasks. */
const isForker = ([name]: readonly [string, string]) => name.startsWith('fork');

/** Holds a socket, files and variables in the folder $A, prints, and permits tracing by any process of its account. */
const VICTIM = `umask 077; cd "$A"; echo ${MARKER} >secret; echo ${MARKER} >"$T"; echo ${MARKER} >"$H"; echo ${MARKER}
[ -e client.key ] || echo ${MARKER} >client.key; [ -z "$GOSHAWK_RESULT" ] || echo '"${MARKER}"' >"$GOSHAWK_RESULT"
exec perl -MIO::Socket::UNIX -e 'syscall(${process.arch === 'arm64' ? 167 : 157}, 0x59616d61, -1, 0, 0, 0); unlink "sock";
$s = IO::Socket::UNIX->new(Local => "sock", Listen => 1) or die; sleep 3600' goshawk-${MARKER}-$U`;

/** Variables of the scripts that name temporary files of an account. */
const filesOf = (name: string) => ({ U: name, T: `/tmp/${name}.tmp`, H: `/dev/shm/${name}.shm` });

interface Victim {
  readonly running: JobHandle;
  readonly ended: JobHandle;
  /** Variables of scripts that attack this account. */
  readonly at: Readonly<Record<string, string>>;
}

async function settle(client: Cluster, home: string, user: string): Promise<Victim> {
  const files = { A: home, ...filesOf(user) };
  const running = await client.submit({
    name: `nightly-${MARKER}`,
    key: 'nightly',
    // Each runs on another worker and leaves one CPU there: tasks that cannot start try both workers.
    demand: { cpu: 2 },
    tasks: [{ exec: ['sh', '-c', VICTIM], cwd: home, env: { ...files, TOKEN: MARKER }, returns: true }],
  });
  const ended = await client.submit({
    name: `done-${MARKER}`,
    tasks: ['', '; exit 1'].map((end) => ({
      exec: ['sh', '-c', `echo ${MARKER}; echo '"${MARKER}"' >$GOSHAWK_RESULT${end}`] as [
        string,
        ...string[],
      ],
      cwd: home,
      returns: true,
    })),
  });
  await ended.wait();
  const pattern = `goshawk-${MARKER}-${user}$`;
  await vi.waitFor(() => expect(pidsOf(pattern)).not.toEqual([]), WAIT);
  await vi.waitFor(() => expect(existsSync(join(home, 'sock'))).toBe(true), WAIT);
  // The processes of a sandbox have the same command line; the last one is the command itself.
  const pid = pidsOf(pattern).at(-1)!;
  const group = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[2]!;
  const result = /GOSHAWK_RESULT=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'latin1'))![1]!;
  return { running, ended, at: { ...files, P: `${pid}`, G: group, R: result } };
}

/** Runs scripts of `sh` in one process of an account, or of root. Returns their exit codes. */
function statusesOf(all: readonly string[], user: string | undefined, cwd: string): number[] {
  const each = ['sh', '-c', 'for s; do sh -c "$s" >/dev/null 2>&1; echo $?; done', 'sh', ...all];
  const line = user === undefined ? each : ['runuser', '-u', user, '--', ...each];
  const { stdout } = spawnSync(line[0]!, line.slice(1), {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  return stdout.trim().split('\n').map(Number);
}

/** Tasks of `sh` in a folder. */
const shells = (all: readonly string[], cwd: string) =>
  all.map((script) => ({ exec: ['sh', '-c', script] as [string, ...string[]], cwd }));

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
        ...['--secure', '--run-as', runAs, '--workers', '2', '--cpus', '3'],
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
      victims = await Promise.all([
        settle(clients[ANN]!, homes[ANN]!, ANN),
        settle(clients[BOB]!, homes[BOB]!, BOB),
      ]);
    });

    afterAll(async () => {
      try {
        for (const client of Object.values(clients)) {
          await client.cancelJobs({ all: true }).catch(() => {});
          await client.close();
        }
        clients = {};
        await cluster?.stop();
      } finally {
        rmSync(auditFolder, { recursive: true, force: true });
        rmSync(LIMITS_FILE, { force: true });
        for (const name of ACCOUNTS) {
          spawnSync('pkill', ['-KILL', '-u', name]);
          rmSync(`/dev/shm/${name}.shm`, { force: true });
          rmSync(`/tmp/${name}.tmp`, { force: true });
          spawnSync('userdel', ['--force', '--remove', name]);
        }
      }
    });

    /** Attacks on the two accounts by turns, and on the cluster. */
    function attacks(): [name: string, script: string][] {
      const worker = cluster.children().find(({ command }) => / worker /.test(command))!.pid;
      const shared = {
        D: join(cluster.folder, 'data'),
        W: `${worker}`,
        AUDIT: join(auditFolder, 'audit.jsonl'),
      };
      return Object.entries({ ...ATTACKS, ...ATTACKS_ON_CLUSTER }).map(([name, script], index) => [
        name,
        attempt({ ...victims[index % 2]!.at, ...shared, ...MANY }, script),
      ]);
    }

    async function exitCodesOf(scripts: readonly (readonly [string, string])[]) {
      const tasks = shells(
        scripts.map(([, script]) => script),
        homes[MALLORY]!,
      );
      const job = await clients[MALLORY]!.submit({ name: 'attack', tasks });
      await job.wait();
      return (await rowsOf(job)).map(({ exitCode, state, error }, task) => [
        scripts[task]![0],
        exitCode ?? (state === 'completed' ? 0 : error),
      ]);
    }

    test('cannot attack the other two from a task', async () => {
      const all = attacks();
      expect(all.length).toBeGreaterThanOrEqual(40);
      for (const some of [all.filter((each) => !isForker(each)), all.filter(isForker)])
        expect(await exitCodesOf(some)).toEqual(some.map(([name]) => [name, ATTACK_FAILED]));
      // Remaining processes count against the account's limit.
      await vi.waitFor(() => expect(spawnSync('pgrep', ['-u', MALLORY, '-x', 'sleep']).status).toBe(1), WAIT);
      for (const { at } of victims)
        expect(readFileSync(`/proc/${at.P}/stat`, 'utf8')).not.toMatch(/\) [TtZ] /);
    });

    test('cannot attack the other two from another process on the machine', () => {
      // Limits apply to tasks and logins, not to this process.
      const all = attacks().filter(([name]) => !/without end|fill/.test(name));
      const codes = statusesOf(
        all.map(([, script]) => script),
        MALLORY,
        homes[MALLORY]!,
      );
      expect(all.map(([name], index) => [name, codes[index]])).toEqual(
        all.map(([name]) => [name, ATTACK_FAILED]),
      );
      for (const { at } of victims)
        expect(readFileSync(`/proc/${at.P}/stat`, 'utf8')).not.toMatch(/\) [TtZ] /);
    });

    test('succeeds with the same attacks on its own account, in a task and outside, so they are real', async () => {
      const all = Object.entries(ATTACKS).map(([name, script]): [string, string] => [name, control(script)]);
      // A sandbox forbids new namespaces to its own account, too.
      const failing = (name: string) => runAs === 'sandbox' && name.startsWith('enter a separate namespace');
      expect(await exitCodesOf(all)).toEqual(all.map(([name]) => [name, failing(name) ? 1 : 0]));
      const codes = statusesOf(
        all.map(([, script]) => script),
        MALLORY,
        homes[MALLORY]!,
      );
      expect(all.map(([name], index) => [name, codes[index]])).toEqual(all.map(([name]) => [name, 0]));
    });

    test('would succeed with attacks on the cluster with the rights of root', () => {
      const all = attacks().filter(([name]) => name in ATTACKS_ON_CLUSTER);
      const codes = statusesOf(
        all.map(([, script]) => script),
        undefined,
        homes[MALLORY]!,
      );
      expect(all.map(([name], index) => [name, codes[index]])).toEqual(all.map(([name]) => [name, 0]));
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

    /** A running and an ended job of the attacker, the only ones that it has. */
    async function ownJobs() {
      const mallory = clients[MALLORY]!;
      await mallory.cancelJobs({ all: true });
      const ended = await mallory.submit({
        name: 'own',
        tasks: shells(['echo out; exit 1'], homes[MALLORY]!),
      });
      await ended.wait();
      const running = await mallory.submit({ name: 'own', tasks: { count: 2, run: { sleep: 3_600_000 } } });
      await vi.waitFor(async () => expect((await running.describe()).state).toBe('running'), WAIT);
      return { running, ended };
    }

    test('gets the answer of an unknown job for every request about theirs, and succeeds with its own', async () => {
      const mallory = clients[MALLORY]!;
      const own = await ownJobs();
      const requests: Record<
        string,
        [of: 'running' | 'ended', request: (job: JobHandle) => Promise<unknown>]
      > = {
        describe: ['ended', (job) => job.describe({ spec: true })],
        explain: ['running', (job) => job.explain()],
        tasks: ['ended', (job) => job.tasksPage()],
        results: ['ended', (job) => job.resultsPage()],
        output: ['ended', (job) => job.output(0)],
        logs: [
          'ended',
          async (job) => {
            for await (const _ of job.logs()) break;
          },
        ],
        events: [
          'ended',
          async (job) => {
            for await (const _ of job.events()) break;
          },
        ],
        wait: ['ended', (job) => job.wait()],
        hold: ['running', (job) => job.hold()],
        release: ['running', (job) => job.release()],
        priority: ['running', (job) => job.update({ priority: 'low' })],
        'cancel tasks': ['running', (job) => job.cancelTasks([0])],
        cancel: ['running', (job) => job.cancel()],
        retry: ['ended', (job) => job.retry()],
      };
      for (const { running, ended } of victims)
        for (const [name, [, request]] of Object.entries(requests)) {
          const ids = [ended.id.replace(/\d+$/, '999999'), running.id, ended.id];
          const [none, ...foreign] = await Promise.all(ids.map((id) => errorOf(request, mallory.job(id))));
          expect([name, ...foreign]).toEqual([name, none, none]);
          expect(none).toMatchObject({ code: 'unknown-job' });
        }
      for (const { running } of victims) expect((await running.describe()).state).toBe('running');
      for (const [name, [of, request]] of Object.entries(requests))
        expect([name, await errorOf(request, own[of])]).toEqual([name, undefined]);
    });

    // Its running tasks would take the slots of later ones.
    afterEach(async () => {
      await clients[MALLORY]?.cancelJobs({ all: true });
    });

    test('cannot use their jobs with commands, and can use its own', async () => {
      const own = await ownJobs();
      const key = join(homes[MALLORY]!, 'client.key');
      const commands: Record<string, (id: string) => string[]> = {
        job: (id) => ['job', id, '--spec'],
        tasks: (id) => ['tasks', id],
        logs: (id) => ['logs', id],
        why: (id) => ['why', id],
        retry: (id) => ['retry', id],
      };
      const run = (args: readonly string[]) =>
        cluster.goshawk([...args, '--cluster', cluster.url, '--keys', key], {
          environment: { XDG_STATE_HOME: homes[MALLORY]! },
        });
      const [ann, bob] = victims;
      for (const [name, of] of Object.entries({ ...commands, cancel: (id: string) => ['cancel', id] })) {
        const [foreign, mine] = await Promise.all([
          run(of(name === 'cancel' ? bob.running.id : ann.ended.id)),
          run(of(name === 'cancel' ? own.running.id : own.ended.id)),
        ]);
        expect([name, mine.exitCode, mine.stderr]).toEqual([name, 0, expect.anything()]);
        expect([name, foreign.exitCode === 0, foreign.stdout]).toEqual([name, false, '']);
        expect(foreign.stderr).toMatch(/no job|unknown/i);
      }
      expect((await bob.running.describe()).state).toBe('running');
    });

    test('cannot use their jobs over HTTP with a dashboard of its own, and can use its own', async () => {
      const own = await ownJobs();
      const key = join(homes[MALLORY]!, 'client.key');
      const tokens = join(homes[MALLORY]!, 'tokens');
      writeFileSync(tokens, `operate ${MARKER}-token\n`, { mode: 0o600 });
      const gateway = cluster.run(
        [
          'dashboard',
          '--listen',
          '127.0.0.1:0',
          '--token-file',
          tokens,
          '--cluster',
          cluster.url,
          '--keys',
          key,
        ],
        { environment: { XDG_STATE_HOME: homes[MALLORY]! } },
      );
      try {
        const { origin } = new URL(await gateway.firstLine);
        const ask = async (method: string, path: string) => {
          const headers = { authorization: `Bearer ${MARKER}-token`, 'content-type': 'application/json' };
          const signal = AbortSignal.timeout(30_000);
          const answer = await fetch(`${origin}/v1${path}`, {
            method,
            headers,
            signal,
            ...(method === 'POST' ? { body: '{}' } : {}),
          });
          return { status: answer.status, body: await answer.text() };
        };
        const requests: [method: string, of: 'running' | 'ended', path: string][] = [
          ['GET', 'ended', ''],
          ['GET', 'ended', '/tasks'],
          ['GET', 'ended', '/logs'],
          ['GET', 'ended', '/results'],
          ['GET', 'running', '/why'],
          ['POST', 'running', '/hold'],
          ['POST', 'running', '/release'],
          ['POST', 'running', '/cancel'],
          ['POST', 'ended', '/retry'],
        ];
        for (const [method, of, path] of requests) {
          for (const victim of victims) {
            const { status, body } = await ask(method, `/jobs/${victim[of].id}${path}`);
            expect([method, path, status]).toEqual([method, path, 404]);
            expect(body).not.toContain(MARKER);
          }
          const mine = await ask(method, `/jobs/${own[of].id}${path}`);
          expect([method, path, Math.floor(mine.status / 100), mine.body]).toEqual([
            method,
            path,
            2,
            expect.anything(),
          ]);
        }
        for (const path of ['/jobs?all=true', '/history', '/usage', '/users', '/overview', '/predictor'])
          expect((await ask('GET', path)).body).not.toMatch(new RegExp(`${MARKER}|${ANN}|${BOB}`));
        expect((await ask('GET', '/jobs?all=true')).body).toContain(own.ended.id);
      } finally {
        gateway.kill('SIGTERM');
        await gateway.finished;
      }
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
      const tasks = [{ exec: ['id', '-un'] as [string, string], cwd: '/' }];
      await expect(mallory.submit({ user: ANN, tasks })).rejects.toMatchObject({ code: 'not-allowed' });
      const own = await mallory.submit({ tasks });
      await own.wait();
      const { stdout, stderr } = await own.output(0);
      expect([`${stdout}`, `${stderr}`]).toEqual([`${MALLORY}\n`, '']);
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
      const environment = { XDG_STATE_HOME: homes[MALLORY]!, GOSHAWK_CLUSTER: cluster.url };
      const [worker, keyless] = await Promise.all([
        cluster.goshawk(['worker', '--central-url', cluster.url, '--keys', key]),
        cluster.goshawk(['jobs', '--all', '--cluster', cluster.url], { environment, cwd: '/' }),
      ]);
      expect(worker.exitCode).toBe(2);
      expect(keyless.exitCode).not.toBe(0);
      expect(keyless.stdout).not.toContain(MARKER);
    });

    test('gets nothing over HTTP without a token', async () => {
      for (const path of ['/metrics', '/status', '/targets']) {
        const { status } = await fetch(`http://127.0.0.1:${httpPort}${path}`);
        expect([path, status]).toEqual([path, 401]);
      }
      const token = readFileSync(join(cluster.folder, 'data', 'http.token'), 'utf8').trim();
      for (const [guess, status] of [
        [token, 200],
        [`${token}x`, 401],
        [token.slice(0, -1), 401],
        [MALLORY, 401],
      ] as const) {
        const headers = { authorization: `Bearer ${guess}` };
        const answer = await fetch(`http://127.0.0.1:${httpPort}/metrics`, { headers });
        expect([guess, answer.status]).toEqual([guess, status]);
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
