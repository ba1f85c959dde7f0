import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runHere } from './terminal.fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'goshawk-run-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a command isolated from the clusters of this machine. */
function goshawk(argv: string[], environment: Record<string, string> = {}) {
  return runHere(argv, { environment: { XDG_STATE_HOME: folder, ...environment }, cwd: folder });
}

const CLUSTER = 'tcp://127.0.0.1:7070';

describe('a usage error is one line and exit code 2', () => {
  it.each<[argv: string[], line: string]>([
    [['frobnicate'], 'unknown command: frobnicate; see `goshawk --help`'],
    [['trace', 'frob'], 'unknown command: trace frob; see `goshawk --help`'],
    [['submti'], 'unknown command: submti; did you mean submit? see `goshawk --help`'],
    [['trace', 'stat'], 'unknown command: trace stat; did you mean trace stats? see `goshawk --help`'],
    [['jobs', '--bogus'], 'unknown option: --bogus; see `goshawk jobs --help`'],
    [
      ['submit', '--retry', '3'],
      'unknown option: --retry; did you mean --retries or --retry-on or --retry-backoff? see `goshawk submit --help`',
    ],
    [['submit', '--task', '3'], 'unknown option: --task; did you mean --tasks? see `goshawk submit --help`'],
    [
      ['submit', '--timeout', '3s'],
      'unknown option: --timeout; did you mean --task-timeout or --wait-timeout? see `goshawk submit --help`',
    ],
    [
      ['replay', 'x', '--no-steal'],
      'unknown option: --no-steal; did you mean --no-stealing? see `goshawk replay --help`',
    ],
    [['jobs', '--config', 'no.json'], '--config: cannot read no.json: there is no such file'],
    [['schema', 'constructor'], 'schema: unknown schema "constructor"; `goshawk schema` lists all'],
    [['workers', 'extra'], 'workers: "extra" is not expected; see `goshawk workers --help`'],
    [['jobs', '--', 'x'], 'jobs takes no arguments after --'],
    [['wait'], 'wait needs ID…; see `goshawk wait --help`'],
    [
      ['jobs', '--state', 'asleep'],
      '--state: "asleep" is not one of waiting, running, completed, failed, cancelled',
    ],
    [['up', '--pilots-max', '0'], '--pilots-max: 0 is out of range; it must be from 1 to 999999999'],
    [['up', '--pilots-max', 'few'], '--pilots-max: "few" is not a whole number, or none'],
    [
      ['submit', '--cpus', '1e999', '--', 'true'],
      '--cpus: 1e999 is out of range; it must be from 0 to 9007199254740991',
    ],
    [['submit', '--cpus', 'Infinity', '--', 'true'], '--cpus: "Infinity" is not a number'],
    [['jobs', '--limit', '0'], '--limit: 0 is out of range; it must be from 1 to 10000'],
    [['log', '--event', 'x'], '--event needs --daemons'],
    [['logs', '--daemons', '--tail', '5'], '--tail has no effect with --daemons; omit it'],
    [['submit', '--prefix', 'never', '--sleep', '1s'], '--prefix needs --logs'],
    [['logs', 'a1-3/'], '"a1-3/" is not a job or task; write ID, ID/7-20, ID/STAGE or ID/STAGE/7-20'],
    [
      ['why', 'a1-3/x'],
      '"a1-3/x" is not one task; write ID, ID/TASK or ID/STAGE/TASK with the number of a task, such as a1-3/17',
    ],
    [['worker', '--cluster', CLUSTER], 'worker: --cluster has no effect; use --central-url'],
    [['scheduler', '--cluster', CLUSTER], 'scheduler: --cluster has no effect; use --central-url'],
    [['simulate', 'prototype', '--cluster', CLUSTER], 'simulate: --cluster has no effect; use --on'],
    [['central', '--cluster', CLUSTER], 'central: --cluster has no effect; omit it'],
    [
      ['job', 'a1-3', '--watch', '--spec'],
      'job: --watch and --spec cannot be used together; use one of them',
    ],
    [
      ['drain', 'w1', '--undo', '--wait'],
      'drain: --undo and --wait cannot be used together; use one of them',
    ],
    [['plan'], 'plan: there is nothing to run; pass a command after --, a job file, --sleep or --module'],
    [
      ['plan', 'no.json'],
      'plan: cannot read no.json: there is no such file; write the command after --: goshawk submit -- CMD ARG…',
    ],
    [['submit'], 'submit: there is nothing to run; pass a command after --, a job file, --sleep or --module'],
    [
      ['submit', 'echo', 'hi'],
      'submit: "hi" is not expected: a submission has one job file; to run a command, write it after --',
    ],
    [
      ['submit', 'no.json'],
      'submit: cannot read no.json: there is no such file; write the command after --: goshawk submit -- CMD ARG…',
    ],
    [['submit', '/dev/zero'], 'submit: cannot read /dev/zero: it has more than 64 MiB'],
    [['submit', ''], 'submit: an argument is empty; check its variable'],
    [
      ['submit', '--tasks', '2'],
      'submit: there is nothing to run; pass a command after --, a job file, --sleep or --module',
    ],
    [
      ['submit', '--each-line', 'no.txt', '--', 'cat'],
      '--each-line: cannot read no.txt: there is no such file',
    ],
    [
      ['submit', '--sleep', '1s', '--task-timeout', '5'],
      '--task-timeout: "5" is not a duration; write a number with a unit, such as 100ms, 2s, 1.5m or 1h',
    ],
    [['jobs', '--cluster', 'nowhere'], '--cluster: "nowhere" is not a URL; write tcp://HOST:PORT'],
  ])('%j: %s', async (argv, line) => {
    const { exitCode, stdout, stderr } = await goshawk(argv);
    expect(stderr).toBe(`goshawk: ${line}\n`);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
  });

  it('names file and field of a job file', async () => {
    writeFileSync(join(folder, 'job.json'), '{"tasks": [{"sleep": 5}], "prioirty": 3}');
    const { exitCode, stderr } = await goshawk(['submit', 'job.json']);
    expect(stderr).toBe('goshawk: job.json: unknown field "prioirty"; did you mean "priority"?\n');
    expect(exitCode).toBe(2);
  });

  it('is JSON with --json, but not with --json of the command that runs', async () => {
    expect(JSON.parse((await goshawk(['jobs', '--json', '--limit', 'x'])).stderr)).toEqual({
      schema: 'goshawk.error/1',
      code: 'bad-option',
      message: '--limit: "x" is not a whole number',
      hint: '',
    });
    const { stderr } = await goshawk(['submit', '--tasks', 'x', '--', 'echo', '--json']);
    expect(stderr).toMatch(/^goshawk: --tasks: "x"/);
  });

  it('is JSON if a variable or the file of settings requests JSON', async () => {
    const config = join(folder, 'json.json');
    writeFileSync(config, '{"json": true}');
    const code = async (argv: string[], environment: Record<string, string>): Promise<string> =>
      JSON.parse((await goshawk(argv, environment)).stderr).code;
    expect(await code(['jobs', '--limit', 'x'], { GOSHAWK_JSON: '1' })).toBe('bad-option');
    expect(await code(['frobnicate'], { GOSHAWK_JSON: 'true' })).toBe('usage');
    expect(await code(['jobs', '--json=true', '--limit', 'x'], {})).toBe('bad-option');
    expect(await code(['jobs', '--limit', 'x', '--config', config], {})).toBe('bad-option');
    for (const flag of ['--json=false', '--no-json']) {
      const { stderr } = await goshawk(['jobs', flag, '--limit', 'x'], { GOSHAWK_JSON: '1' });
      expect(stderr).toMatch(/^goshawk: --limit/);
    }
  });
});

it('the address of the cluster may be a setting also for commands that reject --cluster', async () => {
  const config = join(folder, 'shared.json');
  writeFileSync(config, `{"cluster": "${CLUSTER}"}`);
  for (const [argv, environment] of [
    [['policies'], { GOSHAWK_CLUSTER: CLUSTER }],
    [['policies', '--config', config], {}],
  ] as const)
    expect(await goshawk([...argv], environment)).toMatchObject({ exitCode: 0, stderr: '' });
});

describe('help', () => {
  it.each([
    ['help simulate', 'simulate --help'],
    ['simulate help', 'simulate --help'],
    ['simulate -qh', 'simulate --help'],
    ['trace stats help', 'trace stats --help'],
    ['--json trace stats --help', 'trace stats --help'],
    ['help trace stats', 'trace stats --help'],
    ['trace help', 'trace --help'],
    ['help', '--help'],
    ['-h', '--help'],
  ])('`goshawk %s` is `goshawk %s`', async (line, same) => {
    const { exitCode, stdout } = await goshawk(line.split(' '));
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: (await goshawk(same.split(' '))).stdout });
    expect(stdout.length).toBeGreaterThan(300);
  });

  it('is not printed for a job file called help with a command after it', async () => {
    const { exitCode, stderr } = await goshawk(['submit', 'help', '--', 'echo']);
    expect(stderr).toBe(
      'goshawk: submit: a job file and a command cannot be used together; use one of them\n',
    );
    expect(exitCode).toBe(2);
  });

  it('never replaces a submission', async () => {
    for (const flag of ['--name', '--user']) {
      const { exitCode, stdout } = await goshawk(['submit', '--sleep', '1ms', flag, 'help']);
      expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
    }
  });
});

describe('a file of settings', () => {
  it('may have a byte order mark and CRLF', async () => {
    const config = join(folder, 'bom.json');
    writeFileSync(config, '\ufeff{"workers": 7}\r\n');
    expect((await goshawk(['config', 'show', '--config', config])).stdout).toContain(config);
  });

  it('that is not UTF-8 is rejected in one line', async () => {
    const config = join(folder, 'latin1.json');
    writeFileSync(config, Buffer.concat([Buffer.from('{"user": "'), Buffer.of(0xe9), Buffer.from('"}')]));
    const { exitCode, stderr } = await goshawk(['config', 'show', '--config', config]);
    expect(stderr).toMatch(/^goshawk: \S+latin1\.json: line 1 is not valid UTF-8; .*\n$/);
    expect(exitCode).toBe(2);
  });
});

describe('an unknown setting', () => {
  const takenOut = 'is a command-line option and cannot be a setting; remove it, and pass';

  it.each([
    ['{"stealkap": 3}', 'unknown setting "stealkap"; did you mean stealCap? remove or correct it'],
    ['{"unheard-of": 3}', 'unknown setting "unheard-of"; remove or correct it: '],
    ['{"all": true}', `"all": --all ${takenOut} --all on the command line`],
    ['{"ifMissing": true}', `"ifMissing": --if-missing ${takenOut} --if-missing on the command line`],
    ['{"if-missing": true}', `"if-missing": --if-missing ${takenOut} --if-missing on the command line`],
  ])('is rejected in a file: %s', async (text, line) => {
    const config = join(folder, 'strays.json');
    writeFileSync(config, text);
    const { exitCode, stdout, stderr } = await goshawk(['trace', 'generate', '--list', '--config', config]);
    expect(stderr).toContain(`goshawk: ${config}: ${line}`);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
  });

  it.each([
    ['GOSHAWK_STEALKAP', 'unknown setting; did you mean GOSHAWK_STEAL_CAP?'],
    ['GOSHAWK_WORKER_CPU', 'unknown setting; did you mean GOSHAWK_WORKER_CPUS?'],
    ['GOSHAWK_HTTP_PORT', 'unknown setting'],
    ['GOSHAWK_UNHEARD_OF', 'unknown setting\n'],
    ['GOSHAWK_IF_MISSING', '--if-missing is a command-line option and cannot be a setting\n'],
  ])('is ignored in the environment, with a warning: %s', async (variable, line) => {
    const { exitCode, stdout, stderr } = await goshawk(['trace', 'generate', '--list'], { [variable]: '1' });
    expect(stderr).toContain(`${variable} is ignored: ${line}`);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stdout).toContain('google-like');
    expect(exitCode).toBe(0);
    const quiet = await goshawk(['trace', 'generate', '--list', '-q'], { [variable]: '1' });
    expect(quiet.stderr).toBe('');
  });

  it('differs from a setting of another command, and from variables of other programs', async () => {
    const environment = {
      GOSHAWK_POLICY: 'hawk',
      // GOSHAWK_NAME is a setting of workers; a job's name is only a flag.
      GOSHAWK_NAME: 'w1',
      GOSHAWK_STEALKAP: '',
      // These are variables of a task, which may submit jobs.
      GOSHAWK_JOB: 's1-1',
      GOSHAWK_TASK: '0',
      GOSHAWK_ATTEMPT: '1',
      GOSHAWK_LINE: 'x',
      // These are variables of a Kubernetes service in a pod.
      GOSHAWK_CENTRAL_SERVICE_HOST: '10.0.0.1',
      GOSHAWK_CENTRAL_SERVICE_PORT_MAIL: '7070',
      GOSHAWK_CENTRAL_PORT: 'tcp://10.0.0.1:7070',
      GOSHAWK_CENTRAL_PORT_7070_TCP_ADDR: '10.0.0.1',
      GOSHAWKS: 'many',
    };
    const { exitCode, stderr } = await goshawk(['trace', 'generate', '--list'], environment);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });
});

it('commands without a cluster exit with 3', async () => {
  const { exitCode, stderr } = await goshawk(['jobs']);
  expect(stderr).toBe(
    'goshawk: no cluster is running on this machine; start one with `goshawk up`, or pass an address with --cluster or GOSHAWK_CLUSTER\n',
  );
  expect(exitCode).toBe(3);
});

describe('goshawk config show', () => {
  interface Setting {
    name: string;
    value: unknown;
    origin: string;
    source: string;
    commands: string[];
  }

  it('shows each setting and its origin: flag over variable over file over default', async () => {
    const config = join(folder, 'settings.json');
    writeFileSync(config, '{"workers": 7, "retries": 2, "progress": "none"}');
    const argv = ['config', 'show', '--json', '--config', config, '--progress', 'plain'];
    const { exitCode, stdout } = await goshawk(argv, { GOSHAWK_RETRIES: '3' });
    expect(exitCode).toBe(0);
    const shown = JSON.parse(stdout) as { schema: string; settings: Setting[]; total: number };
    expect(shown).toMatchObject({ schema: 'goshawk.config/1', truncated: false, next: null });
    expect(shown.total).toBe(shown.settings.length);
    const of = (name: string, command?: string) =>
      shown.settings.find(
        (setting) => setting.name === name && (command === undefined || setting.commands.includes(command)),
      );
    expect(of('progress')).toMatchObject({ value: 'plain', origin: 'flag', commands: [] });
    expect(of('retries')).toMatchObject({ value: 3, origin: 'environment', source: 'GOSHAWK_RETRIES' });
    expect(of('workers', 'up')).toMatchObject({ value: 7, origin: 'file', source: config });
    expect(of('steal-cap', 'up')).toMatchObject({ value: 10, origin: 'default', source: '' });
    expect(of('user', 'submit')).toMatchObject({ value: null, origin: 'not set' });
    // Options of a single submission are not settings.
    expect(of('each-line')).toBeUndefined();
  });

  it('is a table for people', async () => {
    const { stdout } = await goshawk(['config', 'show', '--origin'], { GOSHAWK_POLICY: 'sparrow' });
    expect(stdout).toMatch(/^policy +sparrow +environment \(GOSHAWK_POLICY\) +up, central/m);
    expect(stdout).toMatch(/^color +true +default +every command$/m);
  });
});
