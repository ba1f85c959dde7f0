import { type Command, GLOBAL_OPTIONS, kebab, type OptionSpec } from '@goshawk/command';
import { parse } from '@goshawk/command/program';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { allCommands, GOSHAWK } from './commands/index.js';

/** Words with a special meaning elsewhere on a command line. */
const KEYWORDS = [
  'help',
  'version',
  'submit',
  'trace',
  'stats',
  'true',
  'false',
  'none',
  'undefined',
  'null',
];
const DASHED = [
  '-',
  '--x',
  '--help',
  '--version',
  '-h',
  '-q',
  '--json',
  '--no-color',
  '-5',
  '--=',
  '--name=x',
];
const UNUSUAL_VALUES = [
  '',
  ' ',
  'a=b',
  '=',
  "'quoted'",
  '"quoted"',
  'é',
  '名前',
  '🦅',
  '\u202e',
  'a\nb',
  '__proto__',
  '0x10',
  '1e3',
];

const value = fc.oneof(
  fc.constantFrom(...KEYWORDS, ...DASHED, ...UNUSUAL_VALUES),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);

describe('any text is accepted as a value', () => {
  let commands: readonly Command[];
  beforeAll(async () => {
    commands = await allCommands();
  });

  // Every command has the global options, so one of them stands for all.
  const valued = (command: Command): [string, OptionSpec][] =>
    Object.entries({ ...command.options, ...(command === commands[0] ? GLOBAL_OPTIONS : {}) }).filter(
      ([, { type }]) => type !== 'flag',
    );

  it('of all options of every command at once, as --name=VALUE and as --name VALUE', async () => {
    for (const command of commands) {
      const options = valued(command);
      const texts = fc.array(fc.tuple(value, fc.boolean()), {
        minLength: options.length,
        maxLength: options.length,
      });
      await fc.assert(
        fc.asyncProperty(texts, async (drawn) => {
          const expected: Record<string, string> = {};
          const words = options.flatMap(([name, spec], at) => {
            const [given, isJoined] = drawn[at]!;
            const flag = `--${kebab(name)}`;
            // `--export-env=` is an error, and `--export-env -` has no value.
            const isOptional = spec.type === 'text' && spec.valueOptional === true;
            const text = isOptional && (given === '' || given === '-') ? 'help' : given;
            expected[name] = text;
            // After a space, a word with a dash is the next option, except for `-` alone and negative
            // numbers.
            return isJoined || /^-(?!\d+$)./s.test(text) ? [`${flag}=${text}`] : [flag, text];
          });
          const { given } = await parse(GOSHAWK, [...command.name.split(' '), ...words], 100);
          expect(given?.command.name).toBe(command.name);
          expect(given?.flags).toMatchObject(expected);
          expect(given?.words).toEqual([]);
        }),
        {
          numRuns: 10,
          examples: [[options.map(() => ['help', false])], [options.map(() => ["'quoted'", true])]],
        },
      );
    }
  });

  it('of options before the command', async () => {
    await fc.assert(
      fc.asyncProperty(value, async (text) => {
        const { given } = await parse(GOSHAWK, [`--config=${text}`, 'jobs', '--user=ann'], 100);
        expect(given).toMatchObject({ command: { name: 'jobs' }, flags: { config: text, user: 'ann' } });
      }),
    );
  });

  it('and an option without its value never prints help', async () => {
    for (const command of commands) {
      for (const [name, spec] of valued(command)) {
        if (spec.type === 'text' && spec.valueOptional) continue;
        for (const word of ['--help', '--json'])
          await expect(
            parse(GOSHAWK, [...command.name.split(' '), `--${kebab(name)}`, word], 100),
            `${command.name} --${name} ${word}`,
          ).rejects.toThrow(`--${kebab(name)} needs a value`);
      }
    }
  });
});
