import { parse } from '@goshawk/command/program';
import { describe, expect, it } from 'vitest';
import { GOSHAWK } from './commands/index.js';

async function read(...argv: string[]): Promise<unknown> {
  const { given } = await parse(GOSHAWK, argv, 100);
  return { command: given?.command.name, flags: given?.flags, words: given?.words };
}

describe('a command line', () => {
  it.each<[line: string, command: string, flags: Record<string, unknown>, words: string[]]>([
    ['jobs', 'jobs', {}, []],
    [
      'simulate a.tr --workers 15000 --policy=sparrow --no-stealing --json',
      'simulate',
      { workers: '15000', policy: 'sparrow', stealing: false, json: true },
      ['a.tr'],
    ],
    ['trace stats a.tr -q', 'trace stats', { quiet: true }, ['a.tr']],
    // Options may precede the command.
    ['--json jobs', 'jobs', { json: true }, []],
    ['-q --limit 5 jobs', 'jobs', { quiet: true, limit: '5' }, []],
    ['--config jobs wait 1', 'wait', { config: 'jobs' }, ['1']],
    ['--json trace stats a.tr', 'trace stats', { json: true }, ['a.tr']],
    // These values resemble options or commands.
    ['jobs --limit -5', 'jobs', { limit: '-5' }, []],
    ['jobs --limit=', 'jobs', { limit: '' }, []],
    ['jobs --json false', 'jobs', { json: false }, []],
    ['jobs --limit 5 --limit 6', 'jobs', { limit: ['5', '6'] }, []],
    ['submit --name help', 'submit', { name: 'help' }, []],
    ['submit --user help --name version', 'submit', { user: 'help', name: 'version' }, []],
    ['submit --name=--x', 'submit', { name: '--x' }, []],
    ['submit --name=--help', 'submit', { name: '--help' }, []],
    ['wait help a1-1', 'wait', {}, ['help', 'a1-1']],
    ['wait a1-1 help', 'wait', {}, ['a1-1', 'help']],
    ['trace --json stats a.tr', 'trace stats', { json: true }, ['a.tr']],
    ['submit --export-env --json', 'submit', { exportEnv: '', json: true }, []],
    ['submit --export-env A,B', 'submit', { exportEnv: 'A,B' }, []],
    ['jobs --json --json', 'jobs', { json: true }, []],
    ['submit - --stdin -', 'submit', { stdin: '-' }, ['-']],
    ['submit --name 0x10', 'submit', { name: '0x10' }, []],
    ['simulate a.tr --probeRatio 3', 'simulate', { probeRatio: '3' }, ['a.tr']],
    ['submit --env A=1 --env B=2 job.json', 'submit', { env: ['A=1', 'B=2'] }, ['job.json']],
  ])('%s', async (line, command, flags, words) => {
    expect(await read(...line.split(' '))).toEqual({ command, flags, words });
  });

  it.each([
    ['--json', 'no command; `goshawk --help` lists them'],
    ['constructor', 'unknown command: constructor'],
    ['trace', 'trace needs one of: stats, generate, convert, sample, export'],
    ['trace --json', 'trace needs one of: stats, generate, convert, sample, export'],
    ['jobs --limit', '--limit needs a value'],
    ['jobs --limit --json', '--limit needs a value'],
    ['jobs --limit --help', '--limit needs a value'],
    ['submit --name -h', '--name needs a value'],
    ['jobs --no-limit', 'unknown option: --no-limit'],
    ['submit --no-name', 'unknown option: --no-name'],
    ['submit --export-env=', '--export-env= has an empty value'],
    ['submit --wait=yes', '--wait: "yes" is neither true nor false'],
    ['submit --no-wait=', '--wait: "" is neither true nor false'],
    ['jobs --one -z', 'unknown options: --one, -z'],
    ['submit -dash.json', 'unknown option: -dash.json'],
    ['submit -report.json', 'unknown option: -report.json'],
    ['submti --help', 'unknown command: submti; did you mean submit?'],
    ['trace stat help', 'unknown command: trace stat; did you mean trace stats?'],
  ])('%s: %s', async (line, message) => {
    await expect(parse(GOSHAWK, line.split(' '), 100)).rejects.toThrow(message);
  });
});
