import { jobWords } from '@goshawk/command';
import { expect, it } from 'vitest';
import { recordingContext } from '../jobs/jobs.fixture.js';
import { whyCommand } from './why.js';

it.each([
  ['no id', []],
  ['a task', ['abcde-1/7']],
])('refuses --what-if with %s', async (_, words) => {
  const { context } = recordingContext();
  const run = whyCommand.run(
    context,
    { strict: false, whatIf: ['workers=+10'] },
    { words: jobWords(words), afterDashes: undefined },
    {},
  );
  await expect(run).rejects.toMatchObject({ code: 'usage', message: 'why: --what-if needs the ID of a job' });
});
