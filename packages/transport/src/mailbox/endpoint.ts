import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { InvalidEndpointError, UnresolvableHostError } from './errors.js';

/** An address to listen at. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

// Characters of host names and addresses: an unexpanded variable such as $(POD_IP) is not a host.
const TCP = /^tcp:\/\/(\[[^\]]+\]|\*|[\w.-]+):([0-9]{1,5})$/;
const PORT_MAX = 65_535;

/** @throws InvalidEndpointError that says what is expected. */
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

/** Whether listening there means listening on every interface; nobody can connect to such a host. */
export function isWildcard({ host }: Endpoint): boolean {
  return ['*', '0.0.0.0', '::'].includes(host);
}

/** Whether the address behind the endpoint can change. */
export function hasHostName(endpoint: Endpoint): boolean {
  return !isWildcard(endpoint) && isIP(endpoint.host) === 0;
}

/**
 * The endpoint with its host as an IP address. ZeroMQ resolves names in the one thread that moves all
 * bytes, and says nothing when it fails; so they are resolved here. IPv4 is preferred.
 *
 * @throws UnresolvableHostError
 */
export async function resolveEndpoint(text: string): Promise<string> {
  const endpoint = parseEndpoint(text);
  if (!hasHostName(endpoint)) return text;
  const { host, port } = endpoint;
  try {
    const addresses = await lookup(host);
    const chosen = addresses.find(({ family }) => family === 4) ?? addresses[0];
    if (chosen !== undefined) return formatTcp(chosen.address, port);
  } catch (cause) {
    throw new UnresolvableHostError(text, host, { cause });
  }
  throw new UnresolvableHostError(text, host);
}

/** All addresses that the endpoint may lead to, as endpoints. @throws when its name cannot be resolved */
export async function endpointsBehind(text: string): Promise<string[]> {
  const endpoint = parseEndpoint(text);
  if (!hasHostName(endpoint)) return [text];
  const addresses = await lookup(endpoint.host);
  return addresses.map(({ address }) => formatTcp(address, endpoint.port));
}

/** The endpoints at which a process is reached that listens there: at each of the addresses if it listens everywhere. */
export function endpointOn(bind: string, port: number, addresses: readonly string[]): string[] {
  const endpoint = parseEndpoint(bind);
  const hosts = isWildcard(endpoint) ? addresses : [endpoint.host];
  return hosts.map((host) => formatTcp(host, port));
}

export function formatTcp(host: string, port: number): string {
  // Neither a name nor an IPv4 address has a colon. Node's own test for IPv6 takes 3 ms to compile.
  return `tcp://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Loaded where there is a name to look up: most endpoints are numbers. */
async function lookup(host: string): Promise<LookupAddress[]> {
  const dns = await import('node:dns/promises');
  return dns.lookup(host, { all: true });
}
