import { connect } from 'node:net';
import { parseEndpoint } from '../identity/endpoint.js';

/** First byte of a ZMTP greeting. Both sides send their greetings without waiting for each other. */
const SIGNATURE = 0xff;

/**
 * The result of a new connection: a process that speaks ZMTP (`greeting`), a process that hangs (`silence`), a proxy
 * without a backend or a process with another protocol (`closed`), no listener (`refused`), or no route
 * (`unreachable`).
 */
export type ProbeResult = 'greeting' | 'silence' | 'closed' | 'refused' | 'unreachable';

/** Connects to an endpoint and reports what happens. */
export function probeEndpoint(endpoint: string, timeoutMs: number): Promise<ProbeResult> {
  const { host, port } = parseEndpoint(endpoint);
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port });
    const settle = (reception: ProbeResult): void => {
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
