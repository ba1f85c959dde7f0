import type { WorkerView } from '@goshawk/client';
import { cellWidth, painter } from '@goshawk/command';
import { expect, it } from 'vitest';
import { workersTable } from './workers.js';

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
