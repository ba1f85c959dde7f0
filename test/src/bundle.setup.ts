import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

/** Tests over real processes start `bin/goshawk.js`, which runs the bundle: here of what was compiled last. */
export default function setup(): void {
  const root = resolve(import.meta.dirname, '../..');
  execFileSync(process.execPath, ['scripts/bundle.mjs'], { cwd: root, stdio: 'inherit' });
}
