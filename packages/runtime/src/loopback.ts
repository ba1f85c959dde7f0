import { isLoopbackHost } from '@goshawk/core';

/** Whether only this machine can reach an endpoint; ipc and inproc lead nowhere else. */
export function isLoopbackEndpoint(endpoint: string): boolean {
  const host = /^tcp:\/\/(?:\[([^\]]+)\]|([^:]+)):/.exec(endpoint);
  if (host === null) return endpoint.startsWith('ipc://') || endpoint.startsWith('inproc://');
  return isLoopbackHost(host[1] ?? host[2]!);
}
