import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { GOSHAWK } from '../daemons.js';
import { Written } from '../written.js';

/** Reads the journals of schedulers with `goshawk journal export`. */
export async function readJournals(folders: readonly string[]): Promise<Written> {
  const written = new Written();
  for (const folder of folders) {
    const child = spawn(process.execPath, [GOSHAWK, 'journal', 'export', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exit = once(child, 'exit');
    for await (const line of createInterface({ input: child.stdout })) {
      const record = JSON.parse(line);
      written.add(record.id, record);
    }
    const [code] = (await exit) as [number | null];
    if (code !== 0) throw new Error(`the journal in ${folder} cannot be read whole`);
  }
  return written;
}
