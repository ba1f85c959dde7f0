import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ComposeProject, isInRepository } from './compose.fixture.js';
import { missing, named } from './docker.fixture.js';

const SCHEDULERS = 10;
const WORKERS = Number(process.env.COMPOSE_TEST_WORKERS || 100);
const JOBS = 300;

/**
 * Requests the scrape targets from central, as Prometheus does, and scrapes all of them; prints their number per role.
 */
const SCRAPE = `
  const token = process.argv[1].trim();
  const ask = async (url) => {
    const answer = await fetch(url, { headers: { authorization: 'Bearer ' + token } });
    if (!answer.ok) throw new Error(url + ': ' + answer.status);
    return answer;
  };
  const scrape = async () => {
    const counts = {};
    for (const { targets, labels } of await (await ask('http://127.0.0.1:9090/targets')).json()) {
      for (const target of targets) {
        const metrics = await (await ask('http://' + target + '/metrics')).text();
        if (/^goshawk_ready 1$/m.test(metrics)) counts[labels.role] = (counts[labels.role] ?? 0) + 1;
      }
    }
    console.log(JSON.stringify(counts));
  };
  void scrape();
`;

/** Fields of `goshawk replay --json` that this test reads. */
interface Comparison {
  readonly runs: readonly [{ readonly jobs: { readonly completed: number; readonly failed: number } }];
}

describe.skipIf(missing !== undefined)(named(`docker compose up, ${WORKERS} workers`), () => {
  const project = new ComposeProject({ GOSHAWK_WORKERS: `${WORKERS}`, GOSHAWK_SCHEDULERS: `${SCHEDULERS}` });

  beforeAll(async () => {
    await project.must('up', '--detach');
    await project.known(SCHEDULERS, WORKERS);
  });

  afterAll(() => project[Symbol.asyncDispose]());

  test('all Google-like jobs complete while half of the workers leave and return', async () => {
    const replay = project.start(
      ...['run', '--rm', '-T', 'bench', `google-like:jobs=${JOBS},seed=12`, '--jobs', `${JOBS}`],
      ...['--for', '20s', '--json', '--progress', 'plain'],
    );
    const printed = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      replay[stream]!.on('data', (text: Buffer) => {
        printed[stream] += text.toString();
      });
    }
    // The exit may precede the last output, so the test waits for `close`.
    const ended = once(replay, 'close');
    await project.must('up', '--detach', '--no-recreate', '--scale', `worker=${WORKERS / 2}`, 'worker');
    await project.must('up', '--detach', '--no-recreate', '--scale', `worker=${WORKERS}`, 'worker');
    expect((await ended)[0], printed.stderr).toBe(0);
    const [{ jobs }] = (JSON.parse(printed.stdout) as Comparison).runs;
    expect(jobs).toMatchObject({ completed: JOBS, failed: 0 });
    await project.known(SCHEDULERS, WORKERS);
  });

  test('central lists the scrape targets, and all of them answer', async () => {
    const keys = ['run', '--rm', '-T', '--no-deps', '--entrypoint', 'cat', 'keys'];
    const token = await project.must(...keys, '/keys/http.token');
    const scraped = await project.must('exec', '-T', 'central', 'node', '--eval', SCRAPE, token);
    expect(JSON.parse(scraped)).toEqual({ central: 1, scheduler: SCHEDULERS, worker: WORKERS });
  });

  test('accepted jobs complete after all schedulers are killed and restarted', async () => {
    const client = await project.client();
    const jobs = await Promise.all(
      Array.from({ length: 40 }, () => client.submit({ tasks: { count: 20, run: { sleep: 300 } } })),
    );
    await project.must('kill', '--signal', 'KILL', 'scheduler');
    await project.must('up', '--detach', '--no-recreate', 'scheduler');
    await project.known(SCHEDULERS, WORKERS);
    for (const job of jobs) expect(await job.wait()).toMatchObject({ state: 'completed' });
  });
});

describe.skipIf(missing !== undefined)(named('docker-compose.yml'), () => {
  test('logs wrong settings', async () => {
    await using project = new ComposeProject({
      GOSHAWK_WORKERS: '1',
      GOSHAWK_SCHEDULERS: '1',
      GOSHAWK_POLICY: 'gooshawk',
    });
    const up = await project.run('up', '--detach', '--wait', 'central');
    expect(up.code).not.toBe(0);
    expect(await project.must('logs', '--no-log-prefix', 'central')).toContain(
      'goshawk: unknown policy "gooshawk"',
    );
  });

  test('warns a second central in its log', async () => {
    await using project = new ComposeProject({ GOSHAWK_WORKERS: '1', GOSHAWK_SCHEDULERS: '1' });
    await project.must('up', '--detach');
    await project.known(1, 1);
    await project.must('up', '--detach', '--no-recreate', '--scale', 'central=2', 'central');
    await vi.waitFor(
      async () =>
        expect(await project.must('logs', '--no-log-prefix', 'central')).toContain(
          'another central runs this cluster',
        ),
      { timeout: 150_000, interval: 500 },
    );
    await project.known(1, 1);
  });

  test('does not rewrite key files when a command runs inside, so that no daemon reloads them', async () => {
    await using project = new ComposeProject({ GOSHAWK_WORKERS: '1', GOSHAWK_SCHEDULERS: '1' });
    await project.must('up', '--detach');
    await project.known(1, 1);
    const stat = ['stat', '--format', '%n %i %z', '/etc/goshawk/keys/central.key'];
    const before = await project.must('exec', '-T', 'central', ...stat);
    await project.must('run', '--rm', '-T', 'client', 'jobs');
    expect(await project.must('exec', '-T', 'central', ...stat)).toBe(before);
  });

  test('serves the page to readers with the token from the documented place', async () => {
    await using project = new ComposeProject({ GOSHAWK_WORKERS: '1', GOSHAWK_SCHEDULERS: '1' });
    await project.must('up', '--detach', '--wait', 'dashboard', 'worker', 'scheduler');
    await project.known(1, 1);
    const address = (await project.must('port', 'dashboard', '7080')).trim();
    const file = '/etc/goshawk/dashboard/page.tokens';
    const [, token] = (await project.must('exec', '-T', 'dashboard', 'cat', file)).trim().split(' ');
    const ask = (path: string, more: Record<string, string> = {}) =>
      fetch(`http://${address}${path}`, { headers: more });
    expect((await ask('/v1/session')).status).toBe(401);
    expect(await (await ask('/')).text()).toContain('./main.js');
    for (const path of ['/main.js', '/pictures.js', '/views.js', '/style.css'])
      expect([path, (await ask(path)).status]).toEqual([path, 200]);
    const authorization = `Bearer ${token}`;
    expect(await (await ask('/v1/session', { authorization })).json()).toMatchObject({ role: 'operate' });
    expect(await (await ask('/v1/workers', { authorization })).json()).toMatchObject({ total: 1 });
  });

  test('opens ports on loopback only', async () => {
    const project = new ComposeProject({});
    const all = await project.must('--profile', '*', 'config', '--format', 'json');
    const { services } = JSON.parse(all) as {
      services: Record<
        string,
        { ports?: { host_ip?: string }[]; volumes?: { source: string; type: string }[] }
      >;
    };
    const ports = Object.values(services).flatMap((each) => each.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatchObject({ host_ip: '127.0.0.1' });
  });

  test('mounts the monitoring files of the repository', async () => {
    const project = new ComposeProject({});
    const all = await project.must(
      '--profile',
      'monitoring',
      'config',
      '--no-path-resolution',
      '--format',
      'json',
    );
    const mounted = [...all.matchAll(/"\.\/(deploy\/[^"]+)"/g)].map(([, path]) => path!);
    expect(mounted.length).toBeGreaterThan(3);
    for (const path of mounted) expect(isInRepository(path), path).toBe(true);
  });
});
