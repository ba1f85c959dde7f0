import { startGoshawk } from '@goshawk/cli/testing';

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
): Promise<UpCluster> {
  const shape = ['--json', '--quiet', '--no-secure', '--data-folder', folder];
  const up = startGoshawk(['up', ...shape, ...args], { XDG_STATE_HOME: folder, ...environment });
  const { cluster } = JSON.parse(await up.firstLine) as { cluster: string };
  const stop = async (): Promise<void> => {
    up.kill('SIGINT');
    await up.finished;
  };
  return { url: cluster, pid: up.pid, [Symbol.asyncDispose]: stop };
}
