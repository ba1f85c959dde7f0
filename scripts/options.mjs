import { parseArgs } from 'node:util';

/**
 * Reads the options of a script, a test or a benchmark, each with the type of its default: a number, a text, a flag, a
 * comma-separated list, or `undefined` for an optional text. `--no-NAME` clears a flag. `--help` prints the usage and the
 * options with their defaults and ends the process with 0; an invalid option or a surplus word ends it with 2.
 *
 * @param usage first lines of the help
 */
export function readOptions(usage, defaults = {}, takesPositionals = false) {
  for (const [name, value] of Object.entries(defaults))
    if (typeof value === 'object' && !Array.isArray(value)) throw new TypeError(`the default of --${name}`);
  const kinds = Object.entries(defaults).map(([name, value]) => [
    name,
    { type: typeof value === 'boolean' ? 'boolean' : 'string' },
  ]);
  try {
    const { values, positionals } = parseArgs({
      options: { ...Object.fromEntries(kinds), help: { type: 'boolean', short: 'h' } },
      allowPositionals: takesPositionals,
      allowNegative: true,
    });
    if (values.help) {
      // A usage of several lines describes the options itself.
      const lines = usage.includes('\n') ? [] : Object.entries(defaults).map(optionLine);
      process.stdout.write(`${[usage.trimEnd(), ...lines].join('\n')}\n`);
      process.exit(0);
    }
    const read = Object.entries(defaults).map(([name, value]) => [
      name,
      readValue(name, values[name], value),
    ]);
    return { ...Object.fromEntries(read), positionals };
  } catch (error) {
    process.stderr.write(`${error.message.split('\n')[0]}\n`);
    process.exit(2);
  }
}

function optionLine([name, preset]) {
  if (typeof preset !== 'boolean') return `  --${name} ${preset ?? 'TEXT'}`;
  return `  --${preset ? 'no-' : ''}${name}`;
}

function readValue(name, given, preset) {
  if (given === undefined || typeof given === 'boolean') return given ?? preset;
  if (typeof preset === 'number') return readNumber(name, given);
  if (typeof preset !== 'object') return given;
  const words = given.split(',').filter((word) => word !== '');
  return typeof preset[0] === 'number' ? words.map((word) => readNumber(name, word)) : words;
}

function readNumber(name, text) {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0)) throw new RangeError(`--${name} takes numbers, not "${text}"`);
  return number;
}
