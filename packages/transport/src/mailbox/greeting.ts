import { connect } from 'node:net';
import { parseEndpoint } from './endpoint.js';

/** ZMTP peers send this first, before they know anything about the other side. */
const SIGNATURE = 0xff;

/**
 * Whether a process that speaks our protocol listens at the endpoint: it greets at once. A proxy without a backend, or the
 * port of a container that is being started, takes the connection and closes it without a word.
 */
export function greets(endpoint: string, timeoutMs: number): Promise<boolean> {
  const { host, port } = parseEndpoint(endpoint);
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port });
    const settle = (hasGreeted: boolean): void => {
      resolve(hasGreeted);
      socket.destroy();
    };
    socket.setTimeout(timeoutMs, () => settle(false));
    socket.once('data', (bytes) => settle(bytes[0] === SIGNATURE));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
  });
}
