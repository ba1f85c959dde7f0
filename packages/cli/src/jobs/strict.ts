import { ExitCode } from '@goshawk/command';

/** Option of commands that list the data of several schedulers. */
export const STRICT = {
  type: 'flag',
  setting: false,
  describe: 'exit with 3 if a scheduler does not answer',
} as const;

/**
 * Returns the exit code of a list that may be incomplete.
 *
 * @param silent schedulers that have not responded
 */
export function strictly(strict: boolean, silent: readonly string[]): number {
  return strict && silent.length > 0 ? ExitCode.unreachable : ExitCode.done;
}
