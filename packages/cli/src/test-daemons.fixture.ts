import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect } from '@goshawk/client';
import { Daemons } from './daemons.fixture.js';

/** Hooks of the test framework; benches use fixtures without them. */
interface Hooks {
  beforeEach(hook: () => void): void;
  afterEach(hook: () => Promise<void>): void;
}

/** Daemons of a test: they and their folder go when it ends. */
export class TestDaemons extends Daemons {
  /** @param name of the folder, for those who find it left behind */
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

  /** A client that asks again soon, and does not give up while daemons are away. */
  connect(): Promise<Cluster> {
    return connect(this.url, { requestTimeoutMs: 60_000, renewMs: 500 });
  }

  /** Writes the number of its task to `lines` when it starts, and runs until `letGo`. */
  get held(): { exec: string[]; cwd: string } {
    const script = 'echo $GOSHAWK_TASK >> lines; until [ -e go ]; do sleep 0.1; done';
    return { exec: ['sh', '-c', script], cwd: this.folder };
  }

  letGo(): void {
    writeFileSync(join(this.folder, 'go'), '');
  }

  /** Sorted lines of a file in the folder that tasks wrote to. */
  linesOf(file: string): string[] {
    const path = join(this.folder, file);
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').sort() : [];
  }
}
