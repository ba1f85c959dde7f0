import { inPostgres } from '@goshawk/journal';

interface WrittenDown {
  readonly accepted: ReadonlySet<string>;
  readonly ended: ReadonlySet<string>;
  /** Tasks of which more than one result is written down, and jobs with two ends. */
  readonly doubled: readonly string[];
}

/** What all journals in a database say together. */
export async function writtenDown(url: string): Promise<WrittenDown> {
  const { StoredJournal } = await inPostgres();
  const accepted = new Set<string>();
  const ended = new Set<string>();
  const completed = new Set<string>();
  const doubled: string[] = [];
  for (const journal of await StoredJournal.all(url)) {
    for (const record of journal.records(({ problem }) => doubled.push(`damaged: ${problem}`))) {
      const id = `${journal.identity.tag}-${record.job}`;
      if (record.kind === 'accepted') accepted.add(id);
      if (record.kind === 'ended') {
        if (ended.has(id)) doubled.push(id);
        ended.add(id);
      }
      if (record.kind !== 'attempt' || record.outcome.kind !== 'completed') continue;
      const name = `${id}/${record.task}`;
      if (completed.has(name)) doubled.push(name);
      completed.add(name);
    }
  }
  return { accepted, ended, doubled };
}
