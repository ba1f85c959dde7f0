import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const FOLDER = resolve(import.meta.dirname, '../../../deploy/systemd');

test.each(readdirSync(FOLDER))(
  '%s restarts its daemon after every failure, however often it fails',
  (unit) => {
    const text = readFileSync(join(FOLDER, unit), 'utf8');
    expect(text).toMatch(/^Restart=on-failure$/m);
    expect(text).toMatch(/^StartLimitIntervalSec=0$/m);
    // A daemon exits with code 2 for invalid settings, but also for a journal that cannot be reached yet.
    expect(text).not.toContain('RestartPreventExitStatus');
  },
);
