import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHere } from '@goshawk/cli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder = '';
let file = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-whatif-trace-'));
  file = join(folder, 'jobs.sacct');
  await writeFile(file, `${HEADER}\n${ROWS.join('\n')}\n`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const HEADER = 'JobID|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|ReqMem';
const time = (seconds: number): string =>
  new Date(1_767_225_600_000 + seconds * 1_000).toISOString().slice(0, 19);
/**
 * Two nodes have 4 CPUs each. A job takes a whole node for 100 s; one arrives every 25 s, so the queue grows.
 */
const ROWS = Array.from({ length: 40 }, (_, i) => {
  const [submit, start] = [25 * i, 50 * i - (i % 2) * 25];
  const begun = Math.max(submit, start);
  return `${i}|COMPLETED|${time(submit)}|${time(begun)}|${time(begun + 100)}|100|1|4|4G`;
});

async function whatif(...args: string[]) {
  const { exitCode, stdout, stderr } = await runHere(['whatif', '--trace', file, '--parallel', '1', ...args]);
  return { exitCode, stdout, stderr };
}

describe('whatif --trace', () => {
  it.each(['1000000000', '1,,3', 'NaN', '0x10', '2.0'])(
    'refuses %s as numbers of workers',
    async (numbers) => {
      const { exitCode, stderr } = await whatif('--workers', numbers);
      expect(stderr.trimEnd()).toMatch(
        /^goshawk: --workers: "[^,"]*" is not a number of workers from 1 to 200000; for example 80,100,120$/m,
      );
      expect(exitCode).toBe(2);
    },
  );

  it('refuses --ran-on for another record of jobs', async () => {
    const { exitCode, stderr } = await runHere(['whatif', folder, '--ran-on', '2']);
    expect(stderr).toBe('goshawk: --ran-on needs --trace\n');
    expect(exitCode).toBe(2);
  });

  it('simulates the cluster of the trace and other sizes', async () => {
    const { exitCode, stdout } = await whatif('--workers', '1,4', '--json');
    expect(exitCode).toBe(0);
    const { recorded, simulated, others } = JSON.parse(stdout);
    expect(recorded).toMatchObject({ jobs: 40, tasks: 40, runtimeSeconds: { all: { count: 40 } } });
    expect(simulated).toMatchObject({ policy: 'fifo-ff', workers: 2 });
    expect(
      others.map(({ policy, workers }: { policy: string; workers: number }) => [policy, workers]),
    ).toEqual([
      ['fifo-ff', 1],
      ['fifo-ff', 4],
    ]);
    // Four jobs per 100 s need four nodes; on one node the last job waits for all the others.
    expect(others[1].runtimeSeconds.all.max).toBeCloseTo(100, 1);
    expect(others[0].runtimeSeconds.all.max).toBeCloseTo(4_000 - 39 * 25, 0);
  });

  it('tries other policies and reports the information that the file lacks', async () => {
    const { exitCode, stdout, stderr } = await whatif('--ran-on', '2');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^simulated as it ran: fifo-ff on 2 workers /m);
    expect(stdout).toMatch(/^goshawk on 2 workers /m);
    expect(stderr).toContain(
      'demand for memory is ignored (to use it, set the capacity of each worker with --resources memory=AMOUNT',
    );
    expect(stderr).toContain('priorities, partitions and backfilling are not in the file');
  });

  it('counts memory if an option defines it', async () => {
    const { stdout } = await whatif('--workers', '4', '--cpus', '8', '--resources', 'memory=6GiB', '--json');
    expect(JSON.parse(stdout).others[0].runtimeSeconds.all.max).toBeCloseTo(100, 1);
    expect((await whatif('--resources', 'memory=1GiB')).stderr).toMatch(/needs 4294967296 of memory/);
  });

  it.each([
    [['data'], '--trace FILE and a cluster cannot be used together'],
    [['--since', '1h'], '--since counts from now'],
  ])('refuses %j', async (args, message) => {
    const { exitCode, stderr } = await whatif(...args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });
});
