import { startGoshawk } from '@goshawk/cli/testing';

interface UpCluster extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/**
 * Starts a cluster with `goshawk up`, without keys, and stops it as by Ctrl-C.
 *
 * @param folder of its data and its state
 * @param environment added to this process's environment
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
