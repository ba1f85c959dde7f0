import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defineCommand } from '@goshawk/command';
import { counted, InputError } from '@goshawk/core';
import { journalPlaces, readJournals } from '../journals.js';
import { ChromeTracing } from '../trace-export/chrome.js';

export const traceExportCommand = defineCommand({
  name: 'trace export',
  words: '[FOLDER|URL…]',
  describe:
    'write a timeline of jobs and workers from the schedulers’ journals, for ui.perfetto.dev or chrome://tracing',
  examples: [
    ['goshawk trace export --job $id --out job.json', 'export one job of the local cluster'],
    [
      'goshawk trace export --since 10m --out minutes.json',
      'export jobs submitted within the last ten minutes',
    ],
    ['goshawk trace export .goshawk --out all.json', 'export all jobs in these journals'],
  ],
  options: {
    job: {
      type: 'job',
      value: 'ID',
      setting: false,
      describe: 'export only this job, which has ended; last: the one that was submitted last',
    },
    since: {
      type: 'duration',
      setting: false,
      describe: 'only jobs submitted within this time: 10m',
    },
    out: { type: 'text', value: 'FILE', setting: false, describe: 'file to write; - for stdout' },
  },
  async run(context, { job, since, out }, { words }) {
    if (out === undefined)
      throw new InputError('usage', 'trace export needs --out FILE', '`--out -` is stdout');
    const places = await journalPlaces(context, words);
    const tracing = new ChromeTracing();
    let damaged = 0;
    await readJournals(
      places,
      (record) => tracing.note(record),
      () => damaged++,
    );
    const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.now() - since;
    const id = job?.idAmong({ jobs: tracing.ended(), silent: [], truncated: false }, context, undefined);
    const trace = tracing.trace((of) => (job === undefined || of.id === id) && of.acceptedAt >= from);
    if (trace === undefined)
      throw new InputError(
        'nothing-recorded',
        job === undefined
          ? `${places.join(', ')}: no job has ended`
          : `${job.shown} does not exist or has not ended`,
        '`goshawk jobs` lists them',
      );
    const text = `${JSON.stringify(trace)}\n`;
    if (out === '-') context.stdout.write(text);
    else await writeFile(resolve(context.cwd, out), text);
    if (damaged > 0) context.note(`${counted(damaged, 'record')} cannot be read and are omitted`);
    if (out !== '-')
      context.note(`${counted(trace.traceEvents.length, 'event')} in ${out}; open it at ui.perfetto.dev`);
  },
});
