import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('alerts fire when they should, by promtool', ({ skip }) => {
  const { error, status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'alerts.test.yml'], {
    cwd: join(import.meta.dirname, '../../../deploy/monitoring'),
    encoding: 'utf8',
  });
  if (error !== undefined) return skip('promtool is not installed');
  expect(status, stdout + stderr).toBe(0);
});
