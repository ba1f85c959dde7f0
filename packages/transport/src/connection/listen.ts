import { Router } from 'zeromq';
import { CAN_PROXY, MultipartProxy, proxyFolder } from '../defense/multipart-proxy.js';
import { AddressInUseError, AddressUnavailableError, InvalidEndpointError } from '../errors.js';
import { reachableAt } from '../identity/advertised-address.js';
import { type Endpoint, formatTcp, parseEndpoint, resolveEndpoint } from '../identity/endpoint.js';
import type { MailboxLimits } from '../limits.js';
import { type InboundSocket, RouterSocket } from '../sockets/router-socket.js';
import { type Keyed, routerOptions } from '../sockets/socket-options.js';

/** The listening socket, which can be replaced by another at the same endpoint. */
export interface Listener {
  readonly inboundSocket: InboundSocket;
  /** The endpoint for peers. */
  readonly endpoint: string;
  /** The port on this machine. */
  readonly port: number;
  /** Whether the multipart proxy is available. */
  readonly canBeProxied: boolean;
  /**
   * Listens again on the same endpoint, which the previous socket must have released.
   *
   * @throws while another process has the endpoint
   */
  reopen(isProxied: boolean): Promise<void>;
}

/**
 * Opens the listening socket of this process.
 * @param bind where to listen; port 0 for any free one
 * @param advertise address for peers, if different; required if `bind` is a wildcard and this machine has several
 * addresses
 * @param keyed admits only peers with a key
 * @throws AddressInUseError, AddressUnavailableError, UnresolvableHostError, InvalidEndpointError
 */
export async function listen(
  bind: string,
  advertise: string | undefined,
  limits: MailboxLimits,
  keyed?: Keyed,
): Promise<Listener> {
  const wanted = parseEndpoint(bind);
  const tell = reachableAt(advertise ?? bind);
  const advertised = parseEndpoint(tell);
  const address = await resolveEndpoint(bind);
  const socket = () => new Router(routerOptions(limits, keyed));
  const open = async (at: string): Promise<Router> => {
    const router = socket();
    try {
      router.ipv6 = wanted.host.includes(':');
      await router.bind(at);
      return router;
    } catch (error) {
      router.close();
      throw bindError(bind, error as NodeJS.ErrnoException);
    }
  };
  const router = await open(address);
  const bound = router.lastEndpoint ?? address;
  const place = parseEndpoint(bound);
  let inboundSocket: InboundSocket = new RouterSocket(router);
  const listener = {
    endpoint: withPort(advertised, tell, place),
    port: place.port,
    canBeProxied: CAN_PROXY,
    get inboundSocket() {
      return inboundSocket;
    },
    reopen: async (isProxied: boolean) => {
      const folder = isProxied ? proxyFolder() : undefined;
      inboundSocket =
        folder !== undefined
          ? await MultipartProxy.open({ ...place, folder, limits, open: socket })
          : new RouterSocket(await open(bound));
    },
  };
  return listener;
}

/** Returns the advertised endpoint; port 0 becomes the port that the system assigned. */
function withPort(advertised: Endpoint, text: string, bound: Endpoint): string {
  return advertised.port === 0 ? formatTcp(advertised.host, bound.port) : text;
}

function bindError(bind: string, cause: NodeJS.ErrnoException): Error {
  switch (cause.code) {
    case 'EADDRINUSE':
      return new AddressInUseError(bind, { cause });
    case 'EADDRNOTAVAIL':
    case 'ENODEV':
      return new AddressUnavailableError(bind, 'the address is not one of this machine', { cause });
    case 'EACCES':
    case 'EPERM':
      return new AddressUnavailableError(bind, 'not permitted; choose a port above 1023', { cause });
    default:
      return cause.code === undefined || cause instanceof InvalidEndpointError
        ? cause
        : new AddressUnavailableError(bind, cause.message, { cause });
  }
}
