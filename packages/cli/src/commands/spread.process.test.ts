import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

let cluster: TestCluster;
beforeAll(async () => {
  // Workers get the values in turn: two in each rack.
  const workers = ['--workers', '4', '--cpus', '2', '--attribute', 'rack=r1,r2'];
  cluster = await TestCluster.start([...workers, '--schedulers', '1']);
});
afterAll(() => cluster.stop());

interface TaskRow {
  readonly index: number;
  readonly state: string;
  readonly worker: string | null;
}

const tasksOf = async (id: string): Promise<readonly TaskRow[]> =>
  JSON.parse((await cluster.goshawk(['tasks', id, '--json'])).stdout).tasks;
const submit = async (...args: string[]) => (await cluster.goshawk(['submit', ...args])).stdout.trim();

async function racks(): Promise<ReadonlyMap<string, string>> {
  const { workers } = JSON.parse((await cluster.goshawk(['workers', '--json'])).stdout);
  return new Map(
    workers.map((each: { name: string; attributes: { rack: string } }) => [each.name, each.attributes.rack]),
  );
}

it('a live cluster runs one task per rack, says why the others wait, and runs them later', async () => {
  const id = await submit('--tasks', '3', '--spread', 'rack', '--sleep', '1h');
  let running: readonly TaskRow[] = [];
  const countRunning = async () => {
    running = (await tasksOf(id)).filter(({ state }) => state === 'running');
    return running.length;
  };
  await expect.poll(countRunning).toBe(2);
  const rackOf = await racks();
  expect(running.map(({ worker }) => rackOf.get(worker!)).sort()).toEqual(['r1', 'r2']);
  await expect
    .poll(async () => (await cluster.goshawk(['why', id])).stdout)
    .toContain('its job runs at most 1 per rack');
  expect((await cluster.goshawk(['cancel', `${id}/${running[0]!.index}`, '--yes'])).exitCode).toBe(0);
  await expect
    .poll(async () => (await tasksOf(id)).map(({ state }) => state).sort())
    .toEqual(['cancelled', 'running', 'running']);
  expect((await cluster.goshawk(['cancel', id, '--yes'])).exitCode).toBe(0);
});

it('a gang starts across the racks, and is refused if there are too few', async () => {
  const gang = await submit('--gang', '--tasks', '4', '--spread', 'rack=2', '--sleep', '1s', '--wait');
  expect(gang).not.toBe('');
  const rackOf = await racks();
  const [id] = gang.split(/\s/);
  const used = (await tasksOf(id!)).map(({ worker }) => rackOf.get(worker!));
  expect(used.sort()).toEqual(['r1', 'r1', 'r2', 'r2']);
  const refused = await cluster.goshawk([
    'submit',
    '--gang',
    '--tasks',
    '3',
    '--spread',
    'rack',
    '--sleep',
    '1s',
  ]);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain('the cluster has room for 2 of them');
});
