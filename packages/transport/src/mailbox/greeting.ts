import { connect } from 'node:net';
import { parseEndpoint } from './endpoint.js';

/** First byte of a ZMTP greeting, sent before anything is known about the peer. */
const SIGNATURE = 0xff;

/**
 * What a new connection to an endpoint meets: a process that speaks our protocol and sends its greeting at once; one that
 * sends nothing, because it hangs; a connection closed without a greeting, as by a proxy without a backend; no listener; or
 * no route.
 */
export type Reception = 'greeting' | 'silence' | 'closed' | 'refused' | 'unreachable';

/** Connects to an endpoint and reports what happens. */
export function receptionAt(endpoint: string, timeoutMs: number): Promise<Reception> {
  const { host, port } = parseEndpoint(endpoint);
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port });
    const settle = (reception: Reception): void => {
      resolve(reception);
      socket.destroy();
    };
    let isConnected = false;
    socket.setTimeout(timeoutMs, () => settle(isConnected ? 'silence' : 'unreachable'));
    socket.once('connect', () => {
      isConnected = true;
    });
    socket.once('data', (bytes) => settle(bytes[0] === SIGNATURE ? 'greeting' : 'closed'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      settle(code === 'ECONNREFUSED' ? 'refused' : isConnected ? 'closed' : 'unreachable'),
    );
    socket.once('close', () => settle('closed'));
  });
}
