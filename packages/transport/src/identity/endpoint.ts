import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { InvalidEndpointError, UnresolvableHostError } from '../errors.js';

/** An address to listen on. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

// Restricts hosts to the characters of names and addresses, to detect an unexpanded variable such as $(POD_IP).
const TCP = /^tcp:\/\/(\[[^\]]+\]|\*|[\w.-]+):([0-9]{1,5})$/;
const PORT_MAX = 65_535;

/** @throws InvalidEndpointError with the expected format */
export function parseEndpoint(text: string): Endpoint {
  const tcp = TCP.exec(text);
  if (tcp === null) {
    throw new InvalidEndpointError(text, 'expected tcp://HOST:PORT, as in tcp://127.0.0.1:7000');
  }
  const [, host = '', digits = ''] = tcp;
  const port = Number(digits);
  if (port > PORT_MAX) throw new InvalidEndpointError(text, `port ${port} is above ${PORT_MAX}`);
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

/** Returns whether the host means all interfaces. Such a host can be listened on, but not connected to. */
export function isWildcard({ host }: Endpoint): boolean {
  return ['*', '0.0.0.0', '::'].includes(host);
}

/** Returns whether the endpoint has a host name, so that its IP address can change. */
export function hasHostName(endpoint: Endpoint): boolean {
  return !isWildcard(endpoint) && isIP(endpoint.host) === 0;
}

/**
 * Returns the endpoint with its host as an IP address. ZeroMQ would block its only I/O thread while
 * resolving a name, and would not report failures.
 *
 * @throws UnresolvableHostError
 */
export async function resolveEndpoint(text: string): Promise<string> {
  const [first] = await endpointsBehind(text);
  return first!;
}

/**
 * Returns all addresses that the endpoint resolves to, as endpoints: at least one, and IPv4 first.
 *
 * @throws UnresolvableHostError
 */
export async function endpointsBehind(text: string): Promise<string[]> {
  const endpoint = parseEndpoint(text);
  if (!hasHostName(endpoint)) return [text];
  const { host, port } = endpoint;
  let addresses: LookupAddress[];
  try {
    addresses = await lookup(host);
  } catch (cause) {
    throw new UnresolvableHostError(text, host, { cause });
  }
  if (addresses.length === 0) throw new UnresolvableHostError(text, host);
  const sorted = addresses.sort((one, other) => one.family - other.family);
  return [...new Set(sorted.map(({ address }) => formatTcp(address, port)))];
}

/** Returns the endpoints of a process that listens at `bind`: for a wildcard, one for each of the addresses. */
export function endpointOn(bind: string, port: number, addresses: readonly string[]): string[] {
  const endpoint = parseEndpoint(bind);
  const hosts = isWildcard(endpoint) ? addresses : [endpoint.host];
  return hosts.map((host) => formatTcp(host, port));
}

export function formatTcp(host: string, port: number): string {
  // Names and IPv4 addresses have no colon. Avoids Node's isIPv6, which takes 3 ms to compile.
  return `tcp://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Resolves a name. Loads the DNS module on demand, because most endpoints are IP addresses. */
async function lookup(host: string): Promise<LookupAddress[]> {
  const dns = await import('node:dns/promises');
  return dns.lookup(host, { all: true });
}
