import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type Context,
  defineCommand,
  ExitCode,
  type OptionSpecs,
  plain,
  VERSION,
  writeAll,
} from '@goshawk/command';
import { JOURNAL_OPTION, journalIn } from '@goshawk/command/cluster';
import {
  ago,
  counted,
  formatBytes,
  formatCount,
  InputError,
  type JobRecord,
  makeFolder,
  sumOf,
} from '@goshawk/core';
import type { Damaged, JournalReader, JournalSummary } from '@goshawk/journal';

/** @throws InputError if the URL is missing */
function urlFor(command: string, url: string | undefined): string {
  if (url !== undefined) return url;
  const hint = 'pass postgres://…, or set GOSHAWK_JOURNAL';
  throw new InputError('usage', `${command}: the URL is missing`, hint);
}

const TAG_OPTION = {
  tag: {
    type: 'text',
    setting: true,
    value: 'TAG',
    describe: 'with PostgreSQL: only the journal whose job ids begin with TAG',
  },
} as const satisfies OptionSpecs;

/**
 * The `goshawk journal` commands read and maintain the journals of schedulers. `inspect`, `verify` and `export` do
 * not change a journal, so its scheduler may run at the same time.
 */
export const journalInitCommand = defineCommand({
  words: '[URL]',
  name: 'journal init',
  describe: 'create the journal tables in PostgreSQL',
  examples: [
    [
      'goshawk journal init postgres://goshawk:…@db1/goshawk',
      'run this once, before schedulers use the database',
    ],
  ],
  needsNoCluster: true,
  options: { journal: JOURNAL_OPTION },
  async run(context, options, { words }) {
    const url = urlFor('journal init', words[0] ?? options.journal);
    const { inPostgres } = await import('@goshawk/journal');
    const { initStore, parseJournalUrl, SCHEMA_VERSION: version } = await inPostgres();
    const { shown } = parseJournalUrl(url);
    const before = await initStore(url);
    context.show({ schema: 'goshawk.journal-init/1', before, version }, () =>
      before === version
        ? `${shown} is already at version ${version}`
        : `${shown} is ready for journals (version ${version})`,
    );
  },
});

export const journalOwnersCommand = defineCommand({
  words: '[URL]',
  name: 'journal owners',
  describe: 'list the journals in PostgreSQL and their owners',
  examples: [
    ['goshawk journal owners postgres://goshawk:…@db1/goshawk', 'find jobs without an owner after a restore'],
  ],
  needsNoCluster: true,
  options: { journal: JOURNAL_OPTION },
  async run(context, options, { words }) {
    const url = urlFor('journal owners', words[0] ?? options.journal);
    const { inPostgres, summaryOf } = await import('@goshawk/journal');
    const { journalOwners, storedJournals } = await inPostgres();
    const stored = new Map((await storedJournals(url)).map((each) => [each.identity.tag, summaryOf(each)]));
    const journals = (await journalOwners(url)).map(({ name, tag, holder, epoch, isHeld }) => {
      const { jobs = 0, jobsEnded = 0 } = stored.get(tag) ?? {};
      const activeJobs = Math.max(0, jobs - jobsEnded);
      return { name, tag, owner: isHeld ? holder : null, lastOwner: holder, epoch, jobs, activeJobs };
    });
    const unowned = journals.filter(({ owner, jobs }) => owner === null && jobs > 0);
    context.show({ schema: 'goshawk.journal-owners/1', journals }, () =>
      [
        ...journals.map(({ name, tag, owner, lastOwner, activeJobs }) =>
          plain(
            `${tag}-*  of ${name}: ${counted(activeJobs, 'job')} not ended, ${owner === null ? `no owner (last owner: ${lastOwner || 'none'})` : `owned by ${owner}`}`,
          ),
        ),
        unowned.length === 0
          ? 'every journal with jobs has an owner'
          : `${counted(unowned.length, 'journal')} without an owner: start schedulers with these names, or run \`goshawk takeover --all\``,
      ].join('\n'),
    );
    return unowned.length === 0 ? ExitCode.done : ExitCode.failed;
  },
});

export const journalInspectCommand = defineCommand({
  words: 'FOLDER|URL',
  name: 'journal inspect',
  describe: 'show the owner, jobs and size of a journal',
  examples: [
    ['goshawk journal inspect .goshawk/s0', 'inspect the journal of the first scheduler of `goshawk up`'],
  ],
  needsNoCluster: true,
  options: TAG_OPTION,
  async run(context, { tag }, { words }) {
    const { summaryOf } = await import('@goshawk/journal');
    return withJournals(context, words[0]!, tag, (journals) => {
      for (const journal of journals) {
        const { holder, epoch } = journal;
        const summary = { ...summaryOf(journal), ...(holder === undefined ? {} : { holder, epoch }) };
        context.show({ schema: 'goshawk.journal/1', ...summary }, () => inspected(summary));
        journal.check();
      }
      return ExitCode.done;
    });
  },
});

export const journalVerifyCommand = defineCommand({
  words: 'FOLDER|URL',
  name: 'journal verify',
  describe: 'read every record of a journal and list the damaged ones',
  examples: [['goshawk journal verify .goshawk/s0', 'exit with 1 if a record is damaged']],
  needsNoCluster: true,
  options: TAG_OPTION,
  async run(context, { tag: only }, { words }) {
    const { verify } = await import('@goshawk/journal');
    return withJournals(context, words[0]!, only, (journals) => {
      let isSound = true;
      for (const journal of journals) {
        const { records, jobs, damaged } = verify(journal);
        isSound &&= damaged.length === 0;
        context.show({ schema: 'goshawk.journal-verify/1', records, jobs, damaged }, () =>
          [
            ...damagedLines(journal.identity.tag, damaged),
            `${counted(records, 'record')} of ${counted(jobs, 'job')} can be read, ${damaged.length} damaged`,
          ].join('\n'),
        );
        journal.check();
      }
      return isSound ? ExitCode.done : ExitCode.failed;
    });
  },
});

export const journalExportCommand = defineCommand({
  words: 'FOLDER|URL',
  name: 'journal export',
  describe: 'print every readable record of a journal, one JSON line per record',
  examples: [
    ['goshawk journal export .goshawk/s0 > jobs.jsonl', 'write one line per record, grouped by job'],
  ],
  needsNoCluster: true,
  options: TAG_OPTION,
  async run(context, { tag: only }, { words }) {
    const { exportLines } = await import('@goshawk/journal');
    return withJournals(context, words[0]!, only, async ([journal, ...others]) => {
      if (journal === undefined)
        throw new InputError('no-journal', 'journal export: there is nothing to export');
      if (others.length > 0) {
        const tags = [journal, ...others].map(({ identity }) => identity.tag);
        throw new InputError(
          'usage',
          `journal export: the database has several journals: ${tags.join(', ')}`,
          'select one with --tag',
        );
      }
      let damaged = 0;
      await writeAll(
        context.stdout,
        exportLines(journal, () => damaged++),
      );
      if (damaged > 0) context.note(`skipped ${damaged} unreadable records`);
      journal.check();
      return damaged === 0 ? ExitCode.done : ExitCode.failed;
    });
  },
});

export const journalBackupCommand = defineCommand({
  words: 'FOLDER|URL TO',
  name: 'journal backup',
  describe:
    'back up a journal to TO/TAG.jsonl (TO/TAG.damaged.jsonl if records are damaged), and verify the file; `goshawk journal import` restores it',
  examples: [
    [
      'goshawk journal backup /var/lib/goshawk/s0 /backup',
      'back up while the scheduler runs; replace the last backup unless records are damaged',
    ],
    [
      'goshawk journal backup /var/lib/goshawk /backup',
      'back up the data folders of all schedulers in a folder',
    ],
    ['goshawk journal backup postgres://goshawk@db1/goshawk /backup', 'write one file per journal'],
  ],
  needsNoCluster: true,
  options: TAG_OPTION,
  async run(context, { tag }, { words }) {
    const { backUp, isJournalUrl, markBackedUp } = await import('@goshawk/journal');
    const [place, to] = words as [string, string];
    const folder = resolve(context.cwd, to);
    makeFolder(fs, folder);
    const one = (source: string): Promise<number> =>
      withJournals(context, source, tag, async (journals) => {
        let damaged = 0;
        for (const journal of journals) {
          const at = Date.now();
          const backup = await backUp(journal, folder);
          damaged += backup.damaged;
          if (backup.damaged === 0 && !isJournalUrl(source)) markBackedUp(journalFolder(context, source), at);
          context.show({ schema: 'goshawk.journal-backup/1', ...backup }, () =>
            [
              `${backup.file} has ${counted(backup.records, 'record')}`,
              ...(backup.damaged === 0 ? [] : [`${counted(backup.damaged, 'unreadable record')} skipped`]),
            ].join('\n'),
          );
        }
        return damaged === 0 ? ExitCode.done : ExitCode.failed;
      });
    let code: number = ExitCode.done;
    for (const source of isJournalUrl(place) ? [place] : dataFoldersIn(context, place)) {
      // A journal that cannot be read must not keep the others from being backed up.
      const outcome = await one(source).catch((error: unknown) => {
        if (source === place) throw error;
        context.note(`${source}: ${(error as Error).message}`);
        return ExitCode.failed;
      });
      if (outcome !== ExitCode.done) code = outcome;
    }
    return code;
  },
});

export const journalRepairCommand = defineCommand({
  words: 'FOLDER',
  name: 'journal repair',
  describe: 'rebuild a damaged journal from its readable records, and keep the old one beside it',
  examples: [['goshawk journal repair .goshawk/s0', 'run this only while no scheduler uses the folder']],
  needsNoCluster: true,
  options: {},
  async run(context, _options, { words }) {
    const { repairJournal } = await import('@goshawk/journal');
    const { newTag } = await import('@goshawk/runtime');
    const folder = journalFolder(context, words[0]!);
    const { records, damaged, problems, kept, tag } = await repairJournal({
      folder,
      newTag,
      version: VERSION,
    });
    const jobs = acceptedIn(records);
    const counts = { tag, records: records.length, jobs, damaged, problems };
    context.show({ schema: 'goshawk.journal-repair/1', ...counts, kept: kept ?? null }, () =>
      kept === undefined
        ? 'no record is damaged; nothing was changed'
        : [
            ...problems,
            ...damagedLines(tag, damaged),
            `the new journal has ${counted(records.length, 'record')} of ${counted(jobs, 'job')}; the damaged one is kept as ${kept}`,
          ].join('\n'),
    );
  },
});

export const journalImportCommand = defineCommand({
  words: 'FOLDER|URL',
  name: 'journal import',
  describe: 'create a journal from the output of `goshawk journal export` on stdin',
  examples: [
    ['goshawk journal import /var/lib/goshawk/s0 < jobs.jsonl', 'restore into a folder without a journal'],
    [
      'goshawk journal import postgres://… --name s0 < jobs.jsonl',
      'restore for scheduler s0, which loads it at its next start',
    ],
  ],
  needsNoCluster: true,
  options: {
    name: {
      type: 'text',
      setting: false,
      value: 'NAME',
      describe: 'with PostgreSQL: the scheduler that will own the jobs',
    },
  },
  async run(context, { name }, { words }) {
    const { importJournal, inPostgres, isJournalUrl, parseExport, parseJournalUrl } = await import(
      '@goshawk/journal'
    );
    const { tag, records } = parseExport(await context.readInput(Number.POSITIVE_INFINITY));
    const place = words[0]!;
    const identity = { tag, version: VERSION };
    let folder: string;
    if (isJournalUrl(place)) {
      if (name === undefined)
        throw new InputError(
          'usage',
          'journal import: --name is missing',
          'name the scheduler that will own the jobs',
        );
      folder = parseJournalUrl(place).shown;
      await (await inPostgres()).importStored(place, name, identity, records);
    } else {
      folder = journalIn(resolve(context.cwd, place));
      await importJournal(folder, identity, records);
    }
    const jobs = acceptedIn(records);
    context.show(
      { schema: 'goshawk.journal-import/1', tag, records: records.length, jobs },
      () => `${folder} has ${counted(records.length, 'record')} of ${counted(jobs, 'job')}`,
    );
  },
});

/** Returns the journal folder for a path to it or to the data folder of its scheduler. */
function journalFolder(context: Context, word: string): string {
  const given = resolve(context.cwd, word);
  const inside = journalIn(given);
  return fs.existsSync(inside) ? inside : given;
}

/** Returns the data folders with journals in a folder, or the folder itself if it is one or contains none. */
function dataFoldersIn(context: Context, word: string): readonly string[] {
  const given = resolve(context.cwd, word);
  if (fs.existsSync(journalIn(given)) || !fs.statSync(given, { throwIfNoEntry: false })?.isDirectory())
    return [word];
  const inside = fs
    .readdirSync(given)
    .sort()
    .map((name) => join(given, name));
  const found = inside.filter((folder) => fs.existsSync(journalIn(folder)));
  return found.length === 0 ? [word] : found;
}

/** @param tag selects one of several journals in PostgreSQL */
async function withJournals(
  context: Context,
  word: string,
  tag: string | undefined,
  use: (journals: readonly JournalReader[]) => number | Promise<number>,
): Promise<number> {
  const { isJournalUrl, journalsAt, parseJournalUrl } = await import('@goshawk/journal');
  const isUrl = isJournalUrl(word);
  if (!isUrl && tag !== undefined)
    throw new InputError('usage', '--tag applies only to journals in PostgreSQL', 'omit it');
  const journals = await journalsAt(isUrl ? word : journalFolder(context, word), tag);
  if (journals.length === 0) context.note(`there is no journal at ${parseJournalUrl(word).shown} yet`);
  try {
    return await use(journals);
  } finally {
    for (const journal of journals) await journal.close();
  }
}

function damagedLines(tag: string, damaged: readonly Damaged[]): string[] {
  return damaged.map(({ job, place, problem }) => `${tag}-${job}: record ${place}: ${problem}`);
}

function inspected(summary: JournalSummary & { holder?: string; epoch?: number }): string {
  const { holder, epoch } = summary;
  const { tag, format, version, formers, jobs, jobsEnded, records, fileBytes, usedBytes, lastAt } = summary;
  const last = lastAt === undefined ? 'never' : ago(Date.now() - lastAt);
  return [
    `jobs ${tag}-*, format ${format}, written by goshawk ${version}`,
    `${counted(jobs, 'job')}: ${formatCount(jobs - jobsEnded)} active, ${formatCount(jobsEnded)} ended`,
    `${counted(records, 'record')}, the last ${last}`,
    `${formatBytes(usedBytes)} in use of ${formatBytes(fileBytes)}`,
    // A process name begins with its address.
    `last owned by ${formers.at(-1)?.split('!')[0] ?? 'nobody'}`,
    ...(holder === undefined ? [] : [`owned by scheduler ${holder}, epoch ${epoch}`]),
  ].join('\n');
}

/** Counts jobs as `verify` does: some records, such as those of usage, belong to no job. */
function acceptedIn(records: readonly Pick<JobRecord, 'kind'>[]): number {
  return sumOf(records, ({ kind }) => (kind === 'accepted' ? 1 : 0));
}
