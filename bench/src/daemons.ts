import { join } from 'node:path';
import { type Daemon, startDaemon as start } from '@goshawk/cli/testing';

export { type Daemon, firstLine, GOSHAWK } from '@goshawk/cli/testing';

/**
 * Starts a daemon and waits until it is up. It ends with this process.
 *
 * @param args of the command, such as `['scheduler', '--name', 's0']`
 * @param logs a folder; the log of each name goes on where it was
 * @param environment all of it
 */
export function startDaemon(
  name: string,
  args: readonly string[],
  logs: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Daemon> {
  return start(args, { environment, logFile: join(logs, `${name}.log`) });
}
