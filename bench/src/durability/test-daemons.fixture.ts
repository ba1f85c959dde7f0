import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { Daemons } from '../daemons.js';

/** Daemons of a test: they and their folder go when it ends. */
export class TestDaemons extends Daemons {
  /** @param name of the folder, for who finds it left behind */
  constructor(name: string) {
    super('');
    beforeEach(() => {
      this.folder = mkdtempSync(join(tmpdir(), `goshawk-${name}-`));
    });
    afterEach(async () => {
      await this.stop();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }
}
