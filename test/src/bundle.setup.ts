import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

/**
 * Builds the bundle from the latest compiled code, because tests over real processes start `bin/goshawk.js`, which runs
 * it.
 */
export default function setup(): void {
  const root = resolve(import.meta.dirname, '../..');
  execFileSync(process.execPath, ['scripts/bundle.mjs'], { cwd: root, stdio: 'inherit' });
}
