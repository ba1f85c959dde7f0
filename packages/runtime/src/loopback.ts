import { isIPv4 } from 'node:net';

/** Whether only this machine can reach what listens at a host, which is a name, or an address without brackets. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** The same of an endpoint; ipc and inproc lead nowhere else. */
export function isLoopbackEndpoint(endpoint: string): boolean {
  const host = /^tcp:\/\/(?:\[([^\]]+)\]|([^:]+)):/.exec(endpoint);
  if (host === null) return endpoint.startsWith('ipc://') || endpoint.startsWith('inproc://');
  return isLoopbackHost(host[1] ?? host[2]!);
}
