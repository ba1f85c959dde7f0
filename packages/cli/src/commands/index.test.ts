import { JobWord, type OptionSpec, wordsFor } from '@goshawk/command';
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

test('every word and option that names a job accepts names, prefixes and last', async () => {
  const named: string[] = [];
  for (const command of await allCommands()) {
    if (/\b(ID|JOB)\b/.test(command.words)) {
      named.push(command.name);
      expect(wordsFor(command, ['last'])[0], command.name).toBeInstanceOf(JobWord);
      expect(command.completes, command.name).toBe('ids');
    }
    for (const [name, spec] of Object.entries<OptionSpec>(command.options)) {
      if (!/^(ID|JOB)\b/.test(spec.value ?? '')) continue;
      named.push(`${command.name} ${name}`);
      expect(['job', 'jobs'], `${command.name} ${name}`).toContain(spec.type);
    }
  }
  expect(named).toEqual(expect.arrayContaining(['why', 'hold', 'plan after', 'trace export job']));
});
