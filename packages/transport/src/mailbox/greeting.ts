import { connect } from 'node:net';
import { parseEndpoint } from './endpoint.js';

/** First byte of a ZMTP greeting, sent before anything is known about the peer. */
const SIGNATURE = 0xff;

/**
 * Returns whether a process that speaks our protocol listens at the endpoint: it sends a greeting at once. A proxy without a
 * backend, or the port of a starting container, accepts the connection and closes it without data.
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
