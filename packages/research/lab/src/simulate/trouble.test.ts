import { runHere } from '@goshawk/cli/testing';
import { expect, it } from 'vitest';

const CLUSTER = ['--workers', '8', '--attribute', 'rack=r1,r2,r3,r4,r5,r6,r7,r8'];
const WORKLOAD = ['simulate', 'e2e:jobs=12,nodes=8', ...CLUSTER, '--parallel', '1', '--json'];

const simulated = async (...args: string[]) => {
  const { exitCode, stdout, stderr } = await runHere([...WORKLOAD, ...args]);
  expect(exitCode, stderr).toBe(0);
  return JSON.parse(stdout) as { runs: { jobs: Record<string, number>; options: Record<string, unknown> }[] };
};

it('policies of each kind complete all jobs while workers fail, and the run records it', async () => {
  const policy = 'goshawk,hawk,eagle,capacity,easy';
  const trouble = ['--failures', '1h,2m', '--stragglers', '0.1,3', '--speeds', '1,2'];
  const { runs } = await simulated('--policy', policy, ...trouble);
  expect(runs).toHaveLength(5);
  for (const { jobs, options } of runs) {
    expect(jobs).toMatchObject({ submitted: 12, completed: 12, failed: 0 });
    expect(options).toMatchObject({ failures: '1h,2m', stragglers: '0.1,3', speeds: '1,2' });
  }
});

it('failures can vary between runs', async () => {
  const { runs } = await simulated('--policy', 'sparrow', '--vary', 'failures=1000d,1m;1h,2m');
  expect(runs.map(({ options }) => options.failures)).toEqual(['1000d,1m', '1h,2m']);
});

it.each([
  ['--speeds', '1,0'],
  ['--speeds', '1,'],
  ['--stragglers', '0.1'],
  ['--stragglers', '2,8'],
  ['--stragglers', '0.1,0.5'],
  ['--failures', '1h'],
  ['--failures', '1s,1s'],
  ['--failures', '1h,1m,1m'],
])('%s %s is refused in one line', async (option, value) => {
  const { exitCode, stderr } = await runHere([...WORKLOAD, option, value]);
  expect(exitCode).toBe(2);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain(option);
});
