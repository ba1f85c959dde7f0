import { isLoopbackHost } from '@goshawk/core';
import { isLoopbackEndpoint } from '../loopback.js';

const EVERY_INTERFACE: readonly string[] = ['0.0.0.0', '[::]'];

/**
 * Where others reach an HTTP door.
 *
 * @param url of the door, with the port that it has
 * @param endpoint where others reach the mailbox of the same process
 * @returns `HOST:PORT`; undefined where others are on other machines, and the door is on loopback
 */
export function doorAt(url: string, endpoint: string): string | undefined {
  const { hostname, port } = new URL(url);
  if (EVERY_INTERFACE.includes(hostname)) {
    const host = /^tcp:\/\/(.+):\d+$/.exec(endpoint)?.[1];
    return host && `${host}:${port}`;
  }
  const isLoopback = isLoopbackHost(hostname.replace(/^\[|\]$/g, ''));
  return isLoopback && !isLoopbackEndpoint(endpoint) ? undefined : `${hostname}:${port}`;
}
