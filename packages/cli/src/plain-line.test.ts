import { Random } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { allCommands } from './commands/index.js';
import { GLOBAL_OPTIONS } from './context.js';
import { kebab } from './options.js';
import { parse } from './parser.js';
import { type GivenLine, readPlainLine } from './plain-line.js';

/** Without what the parser adds, and what it says of options that are not given. */
function told({ command, flags, words }: GivenLine): unknown {
  const names = [...Object.keys(command.options), ...Object.keys(GLOBAL_OPTIONS)];
  const given = names.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]]);
  return { command: command.name, words, given: Object.fromEntries(given) };
}

describe('a plain command line', () => {
  it.each([
    ['simulate', 'google-sub.tr', '--workers', '15000', '--policy=sparrow', '--no-stealing', '--json'],
    ['trace', 'stats', 'a.tr', '--json'],
    ['submit', '--tasks', '3', '--sleep', '1s'],
    ['jobs'],
  ])('needs no parser: %s %s %s', async (...argv) => {
    const plain = await readPlainLine(argv);
    expect(plain).toBeDefined();
    expect(told(plain!)).toEqual(told((await parse(argv, 100)).given!));
  });

  it.each([
    [],
    ['--json', 'jobs'],
    ['frobnicate'],
    ['trace', 'frob'],
    ['constructor'],
    ['jobs', '--help'],
    ['jobs', 'help'],
    ['jobs', 'extra'],
    ['jobs', '-q'],
    ['jobs', '--bogus'],
    ['jobs', '--limit'],
    ['jobs', '--limit', '-5'],
    ['jobs', '--limit='],
    ['jobs', '--limit', '5', '--limit', '6'],
    ['jobs', '--no-limit'],
    ['jobs', '--json=false'],
    ['jobs', '--json', 'false'],
    ['simulate', 'a.tr', '--probeRatio', '3'],
    ['submit', '-'],
  ])('is none of: %j %s %s', async (...argv) => expect(await readPlainLine(argv)).toBeUndefined());

  it('says what the parser would make of it', { timeout: 60_000 }, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = Random.seeded(seed);
    const below = (count: number): number => Math.floor(random.next() * count);
    const pick = <T>(of: readonly T[]): T => of[below(of.length)]!;
    const values = [
      '5',
      '1.5',
      '0x10',
      'a b',
      'x=y',
      'a.tr',
      'true',
      'null',
      '{"a":1}',
      '"quoted"',
      '-',
      '1e3',
      'é',
    ];
    const commands = await allCommands();
    let plainOnes = 0;
    for (let round = 0; round < 400; round++) {
      const command = pick(commands);
      const flags = Object.keys({ ...command.options, ...GLOBAL_OPTIONS }).map((name) => `--${kebab(name)}`);
      const argv = command.name.split(' ');
      for (let left = below(5); left > 0; left--) {
        const form = below(6);
        if (form === 0) argv.push(pick(values));
        else if (form === 1) argv.push(pick(flags));
        else if (form === 2) argv.push(pick(flags).replace('--', '--no-'));
        else if (form === 3) argv.push(`${pick(flags)}=${pick(values)}`);
        else argv.push(pick(flags), pick(values));
      }
      const plain = await readPlainLine(argv);
      if (plain === undefined) continue;
      plainOnes++;
      const parsed = await parse(argv, 100).catch((error: unknown) => error as Error);
      const line = `seed ${seed}: ${JSON.stringify(argv)}`;
      if (parsed instanceof Error) throw new Error(`${line}: the parser says ${parsed.message}`);
      expect(told(plain), line).toEqual(told(parsed.given!));
    }
    expect(plainOnes).toBeGreaterThan(50);
  });
});
