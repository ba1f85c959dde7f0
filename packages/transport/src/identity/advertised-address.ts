import { networkInterfaces } from 'node:os';
import { InvalidEndpointError } from '../errors.js';
import { formatTcp, isWildcard, parseEndpoint } from './endpoint.js';

/** The result of `os.networkInterfaces()`. */
export type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Returns the endpoint at which peers reach a process that listens at `text`. Replaces a wildcard by this machine's
 * only address.
 * @throws InvalidEndpointError if the machine has several addresses or none
 */
export function reachableAt(text: string, interfaces?: Interfaces): string {
  const endpoint = parseEndpoint(text);
  if (!isWildcard(endpoint)) return text;
  const addresses = ownAddresses(endpoint.host.includes(':') ? 6 : 4, interfaces);
  if (addresses.length === 1) return formatTcp(addresses[0]!, endpoint.port);
  const found = addresses.length === 0 ? 'no address beyond loopback' : addresses.join(' and ');
  throw new InvalidEndpointError(
    text,
    `0.0.0.0 is not a connectable address, and this machine has ${found}; give the address of this process with --advertise tcp://HOST:PORT`,
  );
}

/**
 * Detects that the address of this machine has changed.
 *
 * @param advertised from `reachableAt`
 * @returns the new address; undefined while the advertised one exists, or while the machine has none, because the
 * advertised one may return
 */
export function movedTo(advertised: string, interfaces?: Interfaces): string | undefined {
  const endpoint = parseEndpoint(advertised);
  const addresses = ownAddresses(endpoint.host.includes(':') ? 6 : 4, interfaces);
  return addresses.includes(endpoint.host) ? undefined : addresses[0];
}

/**
 * Returns the addresses at which others may reach this machine: those of its interfaces, without loopback and
 * link-local ones. A container or a pod usually has one.
 *
 * @param family of the listening socket
 */
function ownAddresses(family: 4 | 6, interfaces: Interfaces = networkInterfaces()): string[] {
  const addresses = Object.values(interfaces).flatMap((each) => each ?? []);
  return addresses
    .filter((each) => !each.internal && each.family === `IPv${family}` && !isLinkLocal(each.address))
    .map(({ address }) => address);
}

function isLinkLocal(address: string): boolean {
  return address.startsWith('169.254.') || /^fe[89ab]/i.test(address);
}
