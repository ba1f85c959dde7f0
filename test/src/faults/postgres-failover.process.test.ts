import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import { inPostgres } from '@goshawk/journal';
import { isPostgresThere, PostgresServer } from '@goshawk/journal/testing';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';

const daemons = new TestDaemons('failover', { beforeEach, afterEach });
beforeEach(() => daemons.startCentralAndWorkers());

const LANES = 6;

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Submits jobs over HTTP from several lanes, each with a key that is repeated until a job is accepted. */
class HttpLoad {
  /** Accepted jobs by their key. */
  readonly accepted = new Map<string, string>();
  readonly refusals: Answer[] = [];
  readonly #gateway: Daemon;
  readonly #lanes: Promise<void>[];
  #isOver = false;

  constructor(gateway: Daemon) {
    this.#gateway = gateway;
    this.#lanes = Array.from({ length: LANES }, (_, lane) => this.#submit(lane));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
  }

  async ask(path: string, job?: object): Promise<Answer> {
    const post = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(job),
    };
    const response = await fetch(new URL(path, this.#gateway.endpoint), job === undefined ? {} : post);
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  async #submit(lane: number): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const key = `${lane}-${number}`;
      const run = ['sh', '-c', `echo ${key} >> lines`];
      for (;;) {
        const answer = await this.ask('/v1/jobs', { key, tasks: [{ exec: run, cwd: daemons.folder }] });
        if (answer.status === 200) {
          this.accepted.set(key, answer.body.job as string);
          break;
        }
        this.refusals.push(answer);
        await pause(100);
      }
    }
  }
}

/** Makes each later commit wait for the standby. */
async function awaitStandby(primary: PostgresServer): Promise<void> {
  const count = (where: string) => primary.sql(`select count(*) from pg_stat_replication where ${where}`);
  await expect.poll(() => count(`state = 'streaming'`)).toBe('1');
  await primary.sql(`alter system set synchronous_standby_names = '*'`);
  await primary.sql('select pg_reload_conf()');
  await expect.poll(() => count(`sync_state = 'sync'`)).toBe('1');
}

test.runIf(isPostgresThere()).each(['a failover to a standby', 'a restart'] as const)(
  '%s of PostgreSQL under HTTP submissions loses no accepted job, runs none twice, and says what is wrong',
  async (how) => {
    const primary = await PostgresServer.start();
    onTestFinished(() => primary.remove());
    let url = await primary.createDatabase('jobs');
    let standby: PostgresServer | undefined;
    if (how === 'a failover to a standby') {
      standby = await primary.standby();
      const made = standby;
      onTestFinished(() => made.remove());
      await awaitStandby(primary);
      url = primary.url('jobs', [standby]);
    }
    await (await inPostgres()).initStore(url);
    for (const name of ['s0', 's1'])
      await daemons.start(name, ['scheduler', '--central-url', daemons.url, '--name', name], {
        GOSHAWK_JOURNAL: url,
      });
    const gateway = await daemons.start('gateway', [
      ...['dashboard', '--listen', '127.0.0.1:0', '--cluster', daemons.url],
    ]);
    const load = new HttpLoad(gateway);
    const accepting = async (): Promise<void> => {
      const before = load.accepted.size;
      await expect.poll(() => load.accepted.size).toBeGreaterThan(before + 2 * LANES);
    };
    await accepting();
    primary.kill();
    await expect.poll(() => load.refusals.length).toBeGreaterThan(0);
    if (standby === undefined) await primary.start();
    else {
      await standby.promote();
      await standby.sql('alter system reset synchronous_standby_names');
      await standby.sql('select pg_reload_conf()');
    }
    await accepting();
    await load.stop();

    for (const [key, id] of load.accepted)
      expect([key, (await load.ask(`/v1/jobs/${id}?wait=60`)).body.state]).toEqual([key, 'completed']);
    const ran = readFileSync(join(daemons.folder, 'lines'), 'utf8').trim().split('\n');
    expect(ran.sort()).toEqual([...load.accepted.keys()].sort());
    for (const { status, body } of load.refusals) {
      const code = status === 504 ? 'journal-pending' : 'journal-unavailable';
      expect([status, body]).toMatchObject([
        expect.toBeOneOf([503, 504]),
        { schema: 'goshawk.error/1', code },
      ]);
    }
  },
);
