import { isLoopbackHost } from '@goshawk/core';
import { isLoopbackEndpoint } from '../loopback.js';

const EVERY_INTERFACE: readonly string[] = ['0.0.0.0', '[::]'];

/**
 * Where others reach an HTTP server.
 *
 * @param url of the server, with the port that it has
 * @param endpoint where others reach the mailbox of the same process
 * @returns `HOST:PORT`; undefined where others are on other machines, and the server is on loopback
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
