import { type Daemon, startDaemonWithHttp } from '@goshawk/cli/testing';

export { GOSHAWK } from '@goshawk/cli/testing';

export interface DaemonProcess extends Daemon {
  /** Of its HTTP server. */
  readonly url: string;
  /** Ends it as an operator does, and waits until it has. */
  drain(): Promise<void>;
}

/** Starts the built daemon on loopback, with an HTTP server, and waits until both can be reached. */
export async function startDaemon(
  role: 'central' | 'scheduler' | 'worker',
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<DaemonProcess> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(GOSHAWK|OTEL)_/.test(name));
  const daemon = await startDaemonWithHttp([role, '--bind', 'tcp://127.0.0.1:0', ...args], {
    environment: { ...Object.fromEntries(inherited), ...environment },
  });
  const drain = async (): Promise<void> => {
    daemon.signal('SIGTERM');
    await daemon.ended;
  };
  return { ...daemon, drain };
}
