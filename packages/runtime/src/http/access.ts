import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLoopbackName } from '@goshawk/core';

/** Reason why a request was rejected. */
export type HttpRefusal = 'token' | 'host';

/** Paths for load balancers and kubelets, which have no token. They reveal nothing. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/livez', '/readyz']);

/**
 * Checks access by token. Without a token, HTTP listens on loopback only, and the `Host` header must name loopback, against DNS
 * rebinding.
 */
export class Access {
  readonly #tokenHash: Buffer | undefined;
  readonly #isLoopback: boolean;
  /** Whether only the open paths are served, because no token is set. */
  readonly isSealed: boolean;

  /** @param isSealed whether a token is required on loopback too */
  constructor(token: string | undefined, isLoopback: boolean, isSealed: boolean) {
    this.#tokenHash = token === undefined ? undefined : hashOf(token);
    this.#isLoopback = isLoopback;
    this.isSealed = isSealed && token === undefined;
  }

  refusal({ headers }: Pick<IncomingMessage, 'headers'>, path: string): HttpRefusal | undefined {
    if (OPEN_PATHS.has(path)) return undefined;
    if (this.#tokenHash !== undefined) return this.#hasToken(headers.authorization) ? undefined : 'token';
    if (this.isSealed) return 'token';
    if (this.#isLoopback && !isLoopbackName(headers.host ?? '')) return 'host';
    return undefined;
  }

  /** Compares in constant time. */
  #hasToken(authorization: string | undefined): boolean {
    const given = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1] ?? '';
    return timingSafeEqual(hashOf(given), this.#tokenHash!);
  }
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
