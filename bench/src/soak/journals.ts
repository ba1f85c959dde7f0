import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { GOSHAWK } from '../daemons.js';

export interface JournalCounts {
  /** Jobs that were accepted, by id. */
  readonly accepted: ReadonlySet<string>;
  /** Jobs that have ended. */
  readonly ended: ReadonlySet<string>;
  /** Tasks of which more than one result counts, as `job/task`. */
  readonly doubled: readonly string[];
  /** Results of tasks that count, by job. */
  readonly results: ReadonlyMap<string, number>;
}

/** What schedulers have written down, by `goshawk journal export` of each folder. */
export async function readJournals(folders: readonly string[]): Promise<JournalCounts> {
  const accepted = new Set<string>();
  const ended = new Set<string>();
  const completed = new Set<string>();
  const doubled: string[] = [];
  const results = new Map<string, number>();
  for (const folder of folders) {
    for await (const { id, kind, task, outcome } of exported(folder)) {
      if (kind === 'accepted') accepted.add(id);
      if (kind === 'ended') {
        if (ended.has(id)) doubled.push(id);
        ended.add(id);
      }
      if (kind !== 'attempt' || outcome?.kind !== 'completed') continue;
      const name = `${id}/${task}`;
      if (completed.has(name)) doubled.push(name);
      completed.add(name);
      results.set(id, (results.get(id) ?? 0) + 1);
    }
  }
  return { accepted, ended, doubled, results };
}

interface Exported {
  readonly id: string;
  readonly kind: string;
  readonly task?: number;
  readonly outcome?: { readonly kind: string };
}

async function* exported(folder: string): AsyncGenerator<Exported> {
  const child = spawn(process.execPath, [GOSHAWK, 'journal', 'export', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as Exported;
  const [code] = (await exit) as [number | null];
  if (code !== 0) throw new Error(`the journal in ${folder} cannot be read whole`);
}
