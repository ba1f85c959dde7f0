import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatBytes } from '@goshawk/core';
import type { JournalSummary, OfflineJournal } from '@goshawk/journal';
import { defineCommand, ExitCode } from '../command.js';
import type { Context } from '../context.js';
import { journalIn } from '../local/free-folder.js';
import { ago } from '../terminal/ago.js';
import { VERSION } from '../version.js';

/**
 * `goshawk journal …`: what a scheduler has written down. `inspect`, `verify` and `export` read without changing it; the
 * scheduler may be at work meanwhile.
 */
const FOLDER = { words: 'FOLDER', wordsMin: 1, wordsMax: 1 } as const;

export const journalInspectCommand = defineCommand({
  ...FOLDER,
  name: 'journal inspect',
  describe: 'say what is in the journal of a scheduler: whose, how many jobs, how large',
  examples: [
    ['goshawk journal inspect .goshawk/s0', 'of the first scheduler that `goshawk up` started here'],
  ],
  options: {},
  async run(context, _options, { words }) {
    return withJournal(context, words[0]!, (journal) => {
      const summary = journal.summary();
      if (context.global.json) context.json({ schema: 'goshawk.journal/1', ...summary });
      else context.out(inspected(summary));
      return ExitCode.done;
    });
  },
});

export const journalVerifyCommand = defineCommand({
  ...FOLDER,
  name: 'journal verify',
  describe: 'read every record of a journal and say which are damaged',
  examples: [['goshawk journal verify .goshawk/s0', 'exits with 1 when something is damaged']],
  options: {},
  async run(context, _options, { words }) {
    return withJournal(context, words[0]!, (journal) => {
      const { tag } = journal.identity;
      const { records, jobs, damaged } = journal.verify();
      if (context.global.json) {
        context.json({ schema: 'goshawk.journal-verify/1', records, jobs, damaged });
      } else {
        for (const { job, place, problem } of damaged) {
          context.out(`${tag}-${job}: record ${place}: ${problem}`);
        }
        context.out(`${records} records of ${jobs} jobs can be read, ${damaged.length} are damaged`);
      }
      journal.check();
      return damaged.length === 0 ? ExitCode.done : ExitCode.failed;
    });
  },
});

export const journalExportCommand = defineCommand({
  ...FOLDER,
  name: 'journal export',
  describe: 'print every record of a journal that can be read, as JSON lines',
  examples: [['goshawk journal export .goshawk/s0 > jobs.jsonl', 'one record a line, by job']],
  options: {},
  async run(context, _options, { words }) {
    return withJournal(context, words[0]!, (journal) => {
      const { tag } = journal.identity;
      let damaged = 0;
      for (const record of journal.records(() => damaged++)) {
        context.stdout.write(`${JSON.stringify({ id: `${tag}-${record.job}`, ...record })}\n`);
      }
      if (damaged > 0) context.note(`${damaged} records cannot be read and are left out`);
      journal.check();
      return damaged === 0 ? ExitCode.done : ExitCode.failed;
    });
  },
});

export const journalRepairCommand = defineCommand({
  ...FOLDER,
  name: 'journal repair',
  describe: 'make a new journal of what can be read of a damaged one, and keep that beside it',
  examples: [['goshawk journal repair .goshawk/s0', 'while no scheduler runs from that folder']],
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
    const jobs = new Set(records.map(({ job }) => job)).size;
    if (context.global.json) {
      const counts = { tag, records: records.length, jobs, damaged, problems };
      context.json({ schema: 'goshawk.journal-repair/1', ...counts, kept: kept ?? null });
    } else if (kept === undefined) {
      context.out('nothing is damaged, and nothing was changed');
    } else {
      for (const problem of problems) context.out(problem);
      for (const { job, place, problem } of damaged)
        context.out(`${tag}-${job}: record ${place}: ${problem}`);
      context.out(
        `${records.length} records of ${jobs} jobs are in the new journal; the damaged one is ${kept}`,
      );
    }
    return ExitCode.done;
  },
});

export const journalImportCommand = defineCommand({
  words: 'FOLDER',
  wordsMin: 1,
  wordsMax: 1,
  name: 'journal import',
  describe: 'make a journal of the lines that `goshawk journal export` has printed, read from stdin',
  examples: [
    ['goshawk journal import /var/lib/goshawk/s0 < jobs.jsonl', 'into a folder that has no journal'],
  ],
  options: {},
  async run(context, _options, { words }) {
    const { importJournal, parseExport } = await import('@goshawk/journal');
    const { tag, records } = parseExport(Buffer.from(await context.readInput()).toString());
    const folder = journalIn(resolve(context.cwd, words[0]!));
    await importJournal(folder, { tag, version: VERSION }, records);
    const jobs = new Set(records.map(({ job }) => job)).size;
    if (context.global.json) {
      context.json({ schema: 'goshawk.journal-import/1', tag, records: records.length, jobs });
    } else {
      context.out(`${records.length} records of ${jobs} jobs are in ${folder}`);
    }
    return ExitCode.done;
  },
});

/** Given the data folder of a scheduler, or the journal in it. */
function journalFolder(context: Context, word: string): string {
  const given = resolve(context.cwd, word);
  const inside = journalIn(given);
  return existsSync(inside) ? inside : given;
}

async function withJournal(
  context: Context,
  word: string,
  use: (journal: OfflineJournal) => number,
): Promise<number> {
  const { OfflineJournal } = await import('@goshawk/journal');
  const journal = await OfflineJournal.open(journalFolder(context, word));
  try {
    return use(journal);
  } finally {
    await journal.close();
  }
}

function inspected(summary: JournalSummary): string {
  const { tag, format, version, formers, jobs, jobsEnded, records, fileBytes, usedBytes, lastAt } = summary;
  const last = lastAt === undefined ? 'never' : ago(Date.now() - lastAt);
  return [
    `jobs ${tag}-*, format ${format}, written by goshawk ${version}`,
    `${jobs} jobs: ${jobs - jobsEnded} active, ${jobsEnded} ended`,
    `${records} records, the last ${last}`,
    `${formatBytes(usedBytes)} in use of ${formatBytes(fileBytes)}`,
    `last had by ${formers.at(-1) ?? 'nobody'}`,
  ].join('\n');
}
