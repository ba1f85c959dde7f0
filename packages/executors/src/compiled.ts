import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Returns the path of a compiled file beside the module `from` (its `import.meta.url`), to run in a separate process or thread.
 * Tests run the TypeScript sources, which Node 20 cannot start, so they use the compiled file too.
 *
 * @throws Error if the build is missing
 */
export function compiledFile(name: string, from: string): string {
  const here = from.endsWith('.ts') ? from.replace(/\/src\/(?!.*\/src\/)/, '/dist/') : from;
  const file = fileURLToPath(new URL(name, here));
  if (here !== from && !existsSync(file)) throw new Error(`${file} is not built: run "npx tsc -b"`);
  return file;
}
