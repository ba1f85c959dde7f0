import { InputError, nameProblem, quoted } from '@goshawk/core';

/**
 * Parses a comma-separated list of names, in which `[0-2]` stands for each number of the range.
 *
 * @throws InputError
 */
export function expandNames(text: string, option = '--expect-schedulers'): readonly string[] {
  const names: string[] = [];
  for (const pattern of text.split(',')) {
    const trimmed = pattern.trim();
    if (trimmed === '') continue;
    const range = /^([^[\]]*)\[(\d{1,6})-(\d{1,6})\]([^[\]]*)$/.exec(trimmed);
    if (range === null && /[[\]*?]/.test(trimmed))
      throw badNames(option, `"${trimmed}" is neither a name nor a range`);
    if (range === null) names.push(trimmed);
    else {
      const [, before, from, to, after] = range as unknown as [string, string, string, string, string];
      if (Number(from) > Number(to)) throw badNames(option, `"${trimmed}" ends before it begins`);
      for (let i = Number(from); i <= Number(to) && names.length <= NAMES_MAX; i++)
        names.push(`${before}${i}${after}`);
    }
    if (names.length > NAMES_MAX) throw badNames(option, `more than ${NAMES_MAX} names`);
  }
  for (const name of names) {
    const problem = nameProblem(name);
    if (problem !== undefined) throw badNames(option, `${quoted(name)}: ${problem}`);
  }
  return [...new Set(names)];
}

const NAMES_MAX = 1_000;

function badNames(option: string, problem: string): InputError {
  return new InputError('bad-option', `${option}: ${problem}`, 'write s0,s1 or s[0-2]');
}
