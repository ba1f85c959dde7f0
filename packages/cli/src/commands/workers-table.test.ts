import type { WorkerView } from '@goshawk/client';
import { cellWidth, painter } from '@goshawk/command';
import { expect, it } from 'vitest';
import { summary, workersTable } from './workers.js';

it('the table of workers fits 80 columns, without cutting amounts', () => {
  const worker = {
    ...{ name: 'rack17-machine-042.example.org', state: 'active', partition: 'general', slots: 64, busy: 12 },
    queued: 1_234,
    capacity: { cpu: 64, memory: 256 * 1024 ** 3, gpu: 8, 'scratch-disk': 2_000 },
    attributes: { zone: 'eu-west-1', model: 'a100-sxm4-80gb' },
  } as unknown as WorkerView;
  const text = workersTable(
    [worker, { ...worker, name: '工作機器' }],
    painter({ color: false, columns: 80 }),
  );
  for (const line of text.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(80);
  for (const whole of ['1,234', '256', '2000', 'zone=eu-west-1', 'model=a100-sxm4-80gb'])
    expect(text).toContain(whole);
  expect(text).not.toMatch(/\d…/);
});

it('each of several alike workers takes one line of 80 columns; a line below has what all have', () => {
  const workers = [0, 1, 2].map((index) => ({
    ...{ name: `w${index}`, state: 'active', partition: 'general', slots: 4, busy: 4, queued: 0 },
    ...{ used: { cpu: 3.5, memory: 9e9 }, capacity: { cpu: 4, memory: 16 * 1024 ** 3, gpu: 2 } },
    attributes: { rack: `r${index % 2}`, container: 'docker', engine: 'docker' },
  })) as unknown as WorkerView[];
  const lines = workersTable(workers, painter({ color: false, columns: 80 })).split('\n');
  expect(lines).toHaveLength(1 + 3 + 1);
  expect(lines[2]).toMatch(/^w1 .* rack=r1$/);
  expect(lines.at(-1)).toBe('all have memory 16 GiB, gpu 2, container=docker engine=docker');
  const wide = workersTable(workers, painter({ color: false, columns: 200 }));
  expect(wide).toMatch(/^w1 .* memory 16 GiB, gpu 2 +rack=r1 container=docker engine=docker$/m);
});

it('the summary does not say that workers are full, because a limit may keep tasks from idle ones', () => {
  const workers = [{ slots: 4, busy: 0, queued: 0, capacity: { cpu: 4 } }] as unknown as WorkerView[];
  const waits = (pendingTasks: number) => summary({ workers, pendingTasks });
  expect(waits(0)).toBe('1 worker, 0 tasks on 4 CPUs, 0 queued');
  expect(waits(1)).toBe('1 worker, 0 tasks on 4 CPUs, 0 queued; 1 task waits at central (goshawk why)');
  expect(waits(20)).toMatch(/; 20 tasks wait at central/);
});
