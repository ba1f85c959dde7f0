import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The command, as it is built. */
export const GOSHAWK = fileURLToPath(new URL('../../../packages/cli/bin/goshawk.js', import.meta.url));

export interface DaemonProcess {
  readonly endpoint: string;
  /** Of its HTTP door. */
  readonly url: string;
  /** Lines of its log so far. */
  readonly log: readonly string[];
  /** Ends it as an operator does, and waits until it has. */
  drain(): Promise<void>;
  kill(): Promise<void>;
}

/** Starts the built daemon on loopback, with an HTTP door, and waits until both can be reached. */
export async function startDaemon(
  role: 'central' | 'scheduler' | 'worker',
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<DaemonProcess> {
  const all = [role, '--bind', 'tcp://127.0.0.1:0', '--http', '127.0.0.1:0', '--json', ...args];
  const inherited = Object.entries(process.env).filter(([name]) => !/^(GOSHAWK|OTEL)_/.test(name));
  const child = spawn(process.execPath, [GOSHAWK, ...all], {
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const log: string[] = [];
  const up = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      log.push(line);
      const url = /"url":"(http:[^"]+)"/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
    void exited.then(() => reject(new Error(`the ${role} ended: ${log.join('\n')}`)));
  });
  const line = once(createInterface({ input: child.stdout! }), 'line') as Promise<[string]>;
  const url = await up;
  const { endpoint } = JSON.parse((await line)[0]) as { endpoint: string };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return { endpoint, url, log, drain: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}
