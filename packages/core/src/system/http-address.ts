import { InputError, quoted } from '../errors.js';

/** An HTTP listen address. */
interface HttpAddress {
  /** A host name, or an IP address without brackets. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

const BIND = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;
const LOOPBACK_IPV4 = /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/;

/**
 * Parses `HOST:PORT`; an IPv6 address is in brackets.
 *
 * @param option name of the option, for errors
 * @param such an example for errors
 * @throws InputError
 */
export function parseBind(bind: string, option: string, such: string): HttpAddress {
  const parts = BIND.exec(bind);
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535)
    throw new InputError(
      'bad-endpoint',
      `${option}: ${quoted(bind)} is not HOST:PORT`,
      `for example ${such}`,
    );
  return { host: (parts[1] ?? parts[2])!, port };
}

export function httpUrl({ host, port }: HttpAddress): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The error for an address that is in use or not available. */
export function cannotListen(bind: string, cause: unknown): InputError {
  const message = `cannot listen at ${bind}: ${(cause as Error).message}`;
  return new InputError('address-unavailable', message, '', { cause });
}

/** Whether only this machine can reach the host, which is a name or an IP address without brackets. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || LOOPBACK_IPV4.test(host);
}

/** Like `isLoopbackHost`, for a `Host` header with or without a port. */
export function isLoopbackName(header: string): boolean {
  return isLoopbackHost(
    header
      .toLowerCase()
      .replace(/:\d{1,5}$/, '')
      .replace(/^\[([^\]]*)\]$/, '$1'),
  );
}
