import { startGoshawk, TestDaemons } from '@goshawk/cli/testing';
import { connect, GoshawkError, type JobHandle, OutcomeUnknownError } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { isPostgresThere, PostgresServer } from '@goshawk/journal/testing';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';

const daemons = new TestDaemons('stalled-journal', { beforeEach, afterEach });
beforeEach(() => daemons.startCentralAndWorkers());

const STALLS: Readonly<Record<string, (server: PostgresServer) => () => Promise<void>>> = {
  'is stopped': (server) => {
    server.pause(true);
    return async () => server.pause(false);
  },
  'is killed': (server) => {
    server.kill();
    return () => server.start();
  },
};

/** Changes that a request makes to a job, and how to see whether it has. */
interface Change {
  /** Prepares a job. */
  readonly job: { readonly hold?: boolean; readonly fails?: boolean };
  request(job: JobHandle): Promise<unknown>;
  hasEffect(job: JobHandle): Promise<boolean>;
}

const CHANGES: Readonly<Record<string, Change>> = {
  cancel: {
    job: {},
    request: (job) => job.cancel(),
    hasEffect: async (job) => (await job.describe()).state === 'cancelled',
  },
  'cancel of tasks': {
    job: { hold: true },
    request: (job) => job.cancelTasks([1]),
    hasEffect: async (job) => (await job.describe()).tasks.cancelled > 0,
  },
  hold: {
    job: {},
    request: (job) => job.hold(),
    hasEffect: async (job) => (await job.describe()).held === true,
  },
  release: {
    job: { hold: true },
    request: (job) => job.release(),
    hasEffect: async (job) => (await job.describe()).held !== true,
  },
  update: {
    job: { hold: true },
    request: (job) => job.update({ priority: 'high' }),
    hasEffect: async (job) => (await job.describe()).priority === 'high',
  },
  retry: {
    job: { fails: true },
    request: (job) => job.retry(),
    hasEffect: async (job) => (await job.describe()).attempts.total > 2,
  },
};

test.runIf(isPostgresThere()).each(Object.keys(STALLS))(
  'while PostgreSQL %s, no request is answered as refused that takes effect',
  async (how) => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.remove());
    const url = await server.createDatabase('jobs');
    await (await inPostgres()).initStore(url);
    await daemons.start('s0', ['scheduler', '--central-url', daemons.url, '--name', 's0'], {
      GOSHAWK_JOURNAL: url,
    });
    const gateway = await daemons.start('gateway', [
      ...['dashboard', '--listen', '127.0.0.1:0', '--cluster', daemons.url],
    ]);
    await using client = await connect(daemons.url, { requestTimeoutMs: 5_000 });
    const jobs = new Map<string, JobHandle>();
    for (const [kind, { job }] of Object.entries(CHANGES)) {
      const run = { exec: ['sh', '-c', job.fails ? 'exit 3' : 'sleep 600'] };
      const made = await client.submit({ tasks: [run, run], hold: job.hold });
      if (job.fails) await made.wait();
      jobs.set(kind, made);
    }
    const before = new Set((await client.jobs({ states: [] })).jobs.map(({ id }) => id));
    const outcomes = new Map<string, Promise<unknown>>();
    const ask = (kind: string, request: Promise<unknown>) =>
      outcomes.set(
        kind,
        request.then(
          () => undefined,
          (error: unknown) => error,
        ),
      );
    const resume = STALLS[how]!(server);
    for (const [kind, { request }] of Object.entries(CHANGES)) ask(kind, request(jobs.get(kind)!));
    ask('submit', client.submit({ name: 'by-sdk', tasks: [{ exec: ['true'] }] }));
    const post = await fetch(new URL('/v1/jobs', gateway.endpoint), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'by-http', tasks: [{ exec: ['true'] }] }),
    });
    const body = (await post.json()) as { code: string };
    const ended = await Promise.all([...outcomes].map(async ([kind, error]) => [kind, await error] as const));
    // As a command, while the journal is known to be down.
    const words = ['cancel', jobs.get('update')!.id, '--cluster', daemons.url];
    const command = await startGoshawk(words, {}, { cwd: daemons.folder }).finished;
    expect([command.exitCode, command.stderr]).toEqual([3, expect.stringContaining('takes effect once')]);
    await resume();
    await expect.poll(async () => (await client.submit({ tasks: [{ sleep: 1 }] })).id).toMatch(/-/);

    const names = (await client.jobs({ states: [] })).jobs.filter(({ id }) => !before.has(id));
    const mayBe = new Map<string, boolean>([
      ['by-http', post.status === 504],
      ['by-sdk', ended.find(([kind]) => kind === 'submit')![1] instanceof OutcomeUnknownError],
    ]);
    expect([503, 504]).toContain(post.status);
    expect(body.code === 'journal-unavailable').toBe(post.status === 503);
    for (const [name, isUnknown] of mayBe)
      if (!isUnknown) expect(names.map((job) => job.name)).not.toContain(name);
    let unknown = 0;
    for (const [kind, error] of ended) {
      expect([kind, error]).toEqual([kind, expect.any(GoshawkError)]);
      if (error instanceof OutcomeUnknownError) unknown++;
      else if (kind !== 'submit')
        expect([kind, error, await CHANGES[kind]!.hasEffect(jobs.get(kind)!)]).toEqual([kind, error, false]);
      const isRecorded = (error as GoshawkError).code === 'journal-pending' && kind in CHANGES;
      if (isRecorded) await expect.poll(() => CHANGES[kind]!.hasEffect(jobs.get(kind)!)).toBe(true);
    }
    // Requests about existing jobs are applied at once.
    expect(unknown).toBeGreaterThanOrEqual(5);
  },
);
