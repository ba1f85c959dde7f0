import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The path of a compiled file beside the module `from` (its `import.meta.url`), for a process or thread of its own. Tests
 * run the TypeScript sources, which Node 20 cannot start: there it is the file that the build made of them.
 *
 * @throws Error when the build has not been made.
 */
export function compiledFile(name: string, from: string): string {
  const here = from.endsWith('.ts') ? from.replace(/\/src\/(?!.*\/src\/)/, '/dist/') : from;
  const file = fileURLToPath(new URL(name, here));
  if (here !== from && !existsSync(file)) throw new Error(`${file} is not built: run "npx tsc -b"`);
  return file;
}
