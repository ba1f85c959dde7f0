import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { firstLine, GOSHAWK } from './daemons.js';

interface UpCluster extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/**
 * A cluster as `goshawk up` starts it, without keys; it is stopped as by Ctrl-C.
 *
 * @param folder of its data and its state
 * @param environment beside this process's own
 */
export async function startUp(
  folder: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  command = GOSHAWK,
): Promise<UpCluster> {
  const up = spawn(
    process.execPath,
    [command, 'up', '--json', '--quiet', '--no-secure', '--data-folder', folder, ...args],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, XDG_STATE_HOME: folder, ...environment } },
  );
  const gone = once(up, 'exit');
  const stop = async (): Promise<void> => {
    up.kill('SIGINT');
    await gone;
  };
  try {
    const { cluster } = await firstLine<{ cluster: string }>(up, 'goshawk up', () => 'see above');
    return { url: cluster, pid: up.pid!, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
