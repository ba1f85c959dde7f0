import { expect, test } from 'vitest';
import { allCommands, GOSHAWK } from './index.js';

async function namesIn(...words: string[]): Promise<string[]> {
  return (await GOSHAWK.namedIn(words)).map(({ name }) => name);
}

test('the name of each loader is that of its command', async () => {
  for (const { name } of await allCommands()) expect(await namesIn(...name.split(' '))).toContain(name);
});

test('only commands that a command line may mean are loaded', async () => {
  expect(await namesIn('--cluster', 'jobs', 'wait', '3')).toEqual(['wait', 'jobs']);
  expect(await namesIn('journal', 'verify')).toEqual([
    'journal init',
    'journal owners',
    'journal inspect',
    'journal verify',
    'journal export',
    'journal repair',
    'journal backup',
    'journal import',
  ]);
  expect(await namesIn('sumbit')).toHaveLength((await allCommands()).length);
});
