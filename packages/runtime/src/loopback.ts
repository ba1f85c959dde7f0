import { isLoopbackHost } from '@goshawk/core';

/** Returns whether only this machine can reach an endpoint. */
export function isLoopbackEndpoint(endpoint: string): boolean {
  const host = /^tcp:\/\/(?:\[([^\]]+)\]|([^:]+)):/.exec(endpoint);
  return host !== null && isLoopbackHost(host[1] ?? host[2]!);
}
