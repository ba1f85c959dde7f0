import { isLoopbackHost } from '@goshawk/core';
import { isLoopbackEndpoint } from '../loopback.js';

const EVERY_INTERFACE: readonly string[] = ['0.0.0.0', '[::]'];

/**
 * Address of an HTTP server for other processes.
 * @param url of the server, with its actual port
 * @param endpoint of the mailbox of the same process
 * @returns `HOST:PORT`; undefined if peers are on other machines, and the server is on loopback
 */
export function reachableAt(url: string, endpoint: string): string | undefined {
  const { hostname, port } = new URL(url);
  if (EVERY_INTERFACE.includes(hostname)) {
    const host = /^tcp:\/\/(.+):\d+$/.exec(endpoint)?.[1];
    return host && `${host}:${port}`;
  }
  const isLoopback = isLoopbackHost(hostname.replace(/^\[|\]$/g, ''));
  return isLoopback && !isLoopbackEndpoint(endpoint) ? undefined : `${hostname}:${port}`;
}
