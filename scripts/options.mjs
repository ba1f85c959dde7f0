import { parseArgs } from 'node:util';

/**
 * Reads the options of a script. `--help` prints the usage and the options with their defaults; an unknown option or a
 * word ends the process with exit code 2.
 *
 * @param usage first line of the help
 * @param options as for `parseArgs`
 */
export function readOptions(usage, options = {}) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } });
    if (!values.help) return values;
  } catch (error) {
    console.error(error.message.split('\n')[0]);
    process.exit(2);
  }
  console.log([usage, ...Object.entries(options).map(lineOf)].join('\n'));
  process.exit(0);
}

function lineOf([name, { type, default: preset }]) {
  return `  --${name}${type === 'boolean' ? '' : ` ${preset ?? 'TEXT'}`}`;
}
