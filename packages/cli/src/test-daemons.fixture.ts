import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect } from '@goshawk/client';
import { Daemons } from './daemons.fixture.js';

/** Hooks of the test framework; benches use fixtures without hooks. */
interface Hooks {
  beforeEach(hook: () => void): void;
  afterEach(hook: () => Promise<void>): void;
}

/** The daemons of one test. When it ends, they are stopped and their folder is removed. */
export class TestDaemons extends Daemons {
  /** @param name part of the folder's name, to trace a leftover folder to its test */
  constructor(name: string, { beforeEach, afterEach }: Hooks) {
    super('');
    beforeEach(() => {
      this.folder = mkdtempSync(join(tmpdir(), `goshawk-${name}-`));
    });
    afterEach(async () => {
      await this.stop();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** Connects a client that retries quickly and outlasts a restart of the daemons. */
  connect(): Promise<Cluster> {
    return connect(this.url, { requestTimeoutMs: 60_000, renewMs: 500 });
  }

  /** A command that appends its task number to `lines` when it starts, and runs until `letGo` is called. */
  get held(): { exec: string[]; cwd: string } {
    const script = 'echo $GOSHAWK_TASK >> lines; until [ -e go ]; do sleep 0.1; done';
    return { exec: ['sh', '-c', script], cwd: this.folder };
  }

  letGo(): void {
    writeFileSync(join(this.folder, 'go'), '');
  }

  /** Returns the sorted lines of a file that tasks wrote to the folder. */
  linesOf(file: string): string[] {
    const path = join(this.folder, file);
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').sort() : [];
  }
}
