import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Job } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';
import { afterEach, expect, test } from 'vitest';
import { Notifier, type NotifyOptions, signatureOf } from './notifier.js';

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that answers with these statuses in turn, and then repeats the last one. */
async function receiver(...statuses: number[]): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => {
      body += bytes;
    });
    request.on('end', () => {
      const status = statuses[Math.min(received.length, statuses.length - 1)]!;
      received.push({ headers: request.headers, body });
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received };
}

function notifier(
  options: Partial<NotifyOptions>,
  pausesMs = [1, 1],
  commandMs?: number,
): { it: Notifier; warnings: string[] } {
  const warnings: string[] = [];
  const logger = { warn: (_: object, line: string) => void warnings.push(line) } as unknown as Logger;
  const it = new Notifier({ hosts: ['*'], ...options }, logger, () => 1_800_000_000_000, pausesMs, commandMs);
  endings.push(() => it.close());
  return { it, warnings };
}

const ignored = (): void => {};

const endedJob = (notify?: string, id = 's-1', state = 'failed', user = 'ann'): Job =>
  ({
    id,
    spec: { name: 'etl', user, notify },
    state,
    counts: { total: 2, waiting: 0, running: 0, completed: 1, failed: 1, cancelled: 0 },
    acceptedAt: 0,
    times: { firstStartAt: 1_000 },
    doneAt: 2_000,
  }) as unknown as Job;

test('the notification address of a job gets a signed POST with the outcome', async () => {
  const { url, received } = await receiver(204);
  const { it } = notifier({ secret: 'key' });
  it.notify(endedJob(url), 1_800_000_000_000, ignored);
  await expect.poll(() => received.length).toBe(1);
  const [{ headers, body }] = received as [Received];
  expect(headers['x-goshawk-signature']).toBe(signatureOf('key', 1_800_000_000, body));
  expect(JSON.parse(body)).toEqual({
    schema: 'goshawk.notification/1',
    event: 'ended',
    job: 's-1',
    name: 'etl',
    user: 'ann',
    state: 'failed',
    tasks: { total: 2, waiting: 0, running: 0, completed: 1, failed: 1, cancelled: 0 },
    submittedAt: '2027-01-15T08:00:00.000Z',
    startedAt: '2027-01-15T08:00:01.000Z',
    endedAt: '2027-01-15T08:00:02.000Z',
  });
});

test('a failing address is retried', async () => {
  const { url, received } = await receiver(503, 200);
  const { it, warnings } = notifier({});
  it.notify(endedJob(url), 0, ignored);
  await expect.poll(() => received.length).toBe(2);
  expect(received[1]!.body).toBe(received[0]!.body);
  expect(warnings).toEqual([]);
});

test.each([
  [500, 3, 'the answer was 500'],
  [404, 1, 'the answer was 404'],
  [302, 1, 'the answer was 302'],
])(
  'an address that responds with %d is given up after %d attempts, which is logged',
  async (status, attempts, said) => {
    const { url, received } = await receiver(status);
    const { it, warnings } = notifier({});
    it.notify(endedJob(url), 0, ignored);
    await expect.poll(() => warnings).toEqual([`the notification was not delivered: ${said}`]);
    expect(received).toHaveLength(attempts);
  },
);

test('the command of the operator gets the notification even if the job names no address', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  endings.push(() => rmSync(folder, { recursive: true }));
  const { it, warnings } = notifier({ command: `cat > ${folder}/all && mv ${folder}/all ${folder}/got` });
  it.jobEnded(endedJob(), 0);
  const read = () => {
    try {
      return JSON.parse(readFileSync(join(folder, 'got'), 'utf8')).job;
    } catch {
      return undefined;
    }
  };
  await expect.poll(read).toBe('s-1');
  expect(warnings).toEqual([]);
});

test('a failed command is logged', async () => {
  const { it, warnings } = notifier({ command: 'exit 3' });
  it.jobEnded(endedJob(), 0);
  await expect.poll(() => warnings).toEqual(['--notify-command failed: it ended with 3']);
});

test('a host that is no longer allowed gets no request, which is logged', async () => {
  const { url, received } = await receiver(200);
  const { it, warnings } = notifier({ hosts: ['*.example.org'] });
  it.notify(endedJob(url), 0, ignored);
  expect(warnings).toEqual(['no notification is sent: --notify-hosts does not allow it']);
  expect(received).toEqual([]);
});

test('the command of a job is retried until it succeeds, and gets the notification and variables', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  endings.push(() => rmSync(folder, { recursive: true }));
  const { it, warnings } = notifier({ hosts: ['command:*'] });
  const job =
    'echo "$GOSHAWK_JOB $GOSHAWK_JOB_NAME $GOSHAWK_JOB_STATE $GOSHAWK_JOB_FAILED of $GOSHAWK_JOB_TASKS"';
  it.notify(
    endedJob(`command:cd ${folder} && if mkdir tried; then exit 3; fi; { cat; ${job}; } > all && mv all got`),
    0,
    ignored,
  );
  const read = () => {
    try {
      return readFileSync(join(folder, 'got'), 'utf8').split('\n');
    } catch {
      return [];
    }
  };
  await expect.poll(read).toHaveLength(3);
  expect(JSON.parse(read()[0]!)).toMatchObject({ schema: 'goshawk.notification/1', job: 's-1' });
  expect(read()[1]).toBe('s-1 etl failed 1 of 2');
  expect(warnings).toEqual([]);
});

test('commands of one user that hang do not hold up those of another', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  endings.push(() => rmSync(folder, { recursive: true, force: true }));
  const { it } = notifier({ hosts: ['command:*'] }, [], 300_000);
  const hangs = `command:echo $$ >> ${folder}/pids; exec sleep 600`;
  for (let count = 0; count < 100; count++) it.notify(endedJob(hangs, `s-${count}`), 0, ignored);
  const other = endedJob(`command:touch ${folder}/done`, 'd-1');
  it.notify({ ...other, spec: { ...other.spec, user: 'bob' } } as unknown as Job, 0, ignored);
  await expect.poll(() => existsSync(join(folder, 'done'))).toBe(true);
  const pids = () => readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n');
  await expect.poll(pids).toHaveLength(4);
  for (const pid of pids()) process.kill(Number(pid), 'SIGKILL');
  await expect.poll(pids).toHaveLength(8);
  it.close();
  for (const pid of pids().slice(4)) process.kill(Number(pid), 'SIGKILL');
});

test('a job that ends again while its first notification is retried is reported in order', async () => {
  const { url, received } = await receiver(503, 200);
  const { it } = notifier({}, [50]);
  it.notify(endedJob(url, 's-1', 'failed'), 0, ignored);
  it.notify(endedJob(url, 's-1', 'completed'), 0, ignored);
  await expect.poll(() => received.length).toBe(3);
  expect(received.map(({ body }) => JSON.parse(body).state)).toEqual(['failed', 'failed', 'completed']);
});

test('a burst of ended jobs is reported completely, a few at a time', { timeout: 60_000 }, async () => {
  let open = 0;
  let most = 0;
  const jobs = new Set<string>();
  const server = createServer(async (request, response) => {
    most = Math.max(most, ++open);
    let body = '';
    for await (const bytes of request) body += bytes;
    jobs.add(JSON.parse(body).job);
    open--;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { it, warnings } = notifier({});
  for (let job = 0; job < 1_200; job++) it.notify(endedJob(url, `s-${job}`), 0, ignored);
  await expect.poll(() => jobs.size, { timeout: 60_000 }).toBe(1_200);
  expect(warnings).toEqual([]);
  expect(most).toBeLessThan(32);
});

test('notifications to a host that hangs do not hold up or displace those to others', async () => {
  const hanging = createServer(() => {});
  await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.2', resolve));
  endings.push(() => {
    hanging.closeAllConnections();
    hanging.close();
  });
  const { url, received } = await receiver(200);
  const { it } = notifier({});
  const stuck = `http://127.0.0.2:${(hanging.address() as AddressInfo).port}/`;
  for (let job = 0; job < 12_000; job++) it.notify(endedJob(stuck, `s-${job}`), 0, ignored);
  it.notify(endedJob(url, 'd-1'), 0, ignored);
  await expect.poll(() => received.length).toBe(1);
});

test.each([
  ['the same host', ['127.0.0.1']],
  ['other hosts', ['127.0.0.2', '127.0.0.3']],
  ['many hosts', Array.from({ length: 40 }, (_, index) => `127.0.1.${index + 1}`)],
])('notifications of users to %s that hang do not hold up or displace those of others', async (_, hosts) => {
  const hanging = createServer(() => {});
  await new Promise<void>((resolve) => hanging.listen(0, '0.0.0.0', resolve));
  endings.push(() => {
    hanging.closeAllConnections();
    hanging.close();
  });
  const { port } = hanging.address() as AddressInfo;
  const { url, received } = await receiver(200);
  const { it, warnings } = notifier({});
  for (let job = 0; job < 14_000; job++) {
    const stuck = `http://${hosts[job % hosts.length]}:${port}/`;
    it.notify(endedJob(stuck, `s-${job}`, 'failed', job % 2 === 0 ? 'mallory' : 'mallet'), 0, ignored);
  }
  expect(warnings.length).toBeGreaterThan(0);
  it.notify(endedJob(url, 'd-1'), 0, ignored);
  await expect.poll(() => received.length).toBe(1);
});

test("the operator's command that hangs for jobs of one user runs for those of others", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  endings.push(() => rmSync(folder, { recursive: true, force: true }));
  const command = `case "$(cat)" in *mallory*) echo $$ >> ${folder}/pids; exec sleep 600 ;; *) touch ${folder}/done ;; esac`;
  const { it, warnings } = notifier({ command }, [], 300_000);
  for (let count = 0; count < 3_000; count++) it.jobEnded(endedJob(undefined, 's-1', 'failed', 'mallory'), 0);
  expect(warnings).toHaveLength(2_000);
  it.jobEnded(endedJob(), 0);
  await expect.poll(() => existsSync(join(folder, 'done'))).toBe(true);
  const pids = () => readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n');
  await expect.poll(pids).toHaveLength(4);
  it.close();
  for (const pid of pids()) process.kill(Number(pid), 'SIGKILL');
});

test('a command that takes too long is killed with the programs that it has started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  endings.push(() => rmSync(folder, { recursive: true }));
  const { it, warnings } = notifier({ command: `sleep 60 & echo $! > ${folder}/pid; wait; true` }, [], 300);
  it.jobEnded(endedJob(), 0);
  await expect.poll(() => warnings).toEqual(['--notify-command failed: it took longer than 300 ms']);
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  const isGone = () => {
    try {
      // A killed process whose parent does not wait for it is a zombie.
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.startsWith('Z');
    } catch {
      return true;
    }
  };
  await expect.poll(isGone).toBe(true);
});

test('a notification is settled once it is delivered, refused for good or no longer allowed, and not when the process ends', async () => {
  const settled: string[] = [];
  const settle = (what: string) => () => void settled.push(what);
  const { url } = await receiver(200);
  const { url: gone } = await receiver(404);
  const { url: broken, received } = await receiver(503);
  const { it } = notifier({ hosts: ['127.0.0.1'] }, [600_000]);
  it.notify(endedJob(broken, 's-1'), 0, settle('503'));
  await expect.poll(() => received.length).toBe(1);
  it.notify(endedJob('command:true', 's-2'), 0, settle('command'));
  expect(settled).toEqual([]);
  await expect.poll(() => settled).toEqual(['command']);
  it.notify(endedJob(url, 's-3'), 0, settle('200'));
  await expect.poll(() => settled).toEqual(['command', '200']);
  it.notify(endedJob(gone, 's-4'), 0, settle('404'));
  await expect.poll(() => settled).toEqual(['command', '200', '404']);
  it.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(settled).toEqual(['command', '200', '404']);
});
