import { type ParseArgsConfig, parseArgs } from 'node:util';

/**
 * Reads the options of a script. `--help` prints the usage and ends the process with 0; an invalid option ends it with 2.
 */
export function readFlags<const O extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: O,
): ReturnType<typeof parseArgs<{ options: O }>>['values'] {
  if (process.argv.includes('--help')) end(0, usage);
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return end(2, `${(error as Error).message}\n\n${usage}`);
  }
}

function end(exitCode: number, text: string): never {
  process.stderr.write(`${text.trimEnd()}\n`);
  process.exit(exitCode);
}
