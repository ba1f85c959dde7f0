import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The path of a compiled file of this folder, for a process or thread of its own. Tests run the
 * TypeScript sources, which Node 20 cannot start: there it is the file that the build made of them.
 *
 * @throws Error when the build has not been made.
 */
export function compiledFile(name: string): string {
  const here = import.meta.url;
  if (!here.endsWith('.ts')) return fileURLToPath(new URL(name, here));
  const file = fileURLToPath(new URL(`../../dist/executors/${name}`, here));
  if (!existsSync(file)) {
    throw new Error(`${name} of the executors is not built: run "npx tsc -b packages/runtime"`);
  }
  return file;
}
