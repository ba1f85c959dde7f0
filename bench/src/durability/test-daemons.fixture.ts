import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type Daemon, startDaemon } from '../daemons.js';

/** Daemons of a test, and a folder for all that they write: both go when it ends, the last daemon first. */
export class TestDaemons {
  /** Of this test. */
  folder = '';
  readonly all: Daemon[] = [];

  /** @param name of the folder, for who finds it left behind */
  constructor(name: string) {
    beforeEach(() => {
      this.folder = mkdtempSync(join(tmpdir(), `goshawk-${name}-`));
    });
    afterEach(async () => {
      for (const daemon of this.all.splice(0).reverse()) await daemon.kill();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  async start(name: string, ...args: string[]): Promise<Daemon> {
    const daemon = await startDaemon(name, args, join(this.folder, 'logs'));
    this.all.push(daemon);
    return daemon;
  }
}
