import type { IncomingMessage } from 'node:http';
import { isLoopbackName } from '@goshawk/core';
import { BearerTokens } from '@goshawk/transport';

/** Reason why a request was rejected. */
export type HttpRefusal = 'token' | 'host';

/**
 * Paths that need no token, for load balancers and kubelets. Without a token they show the status, but not the
 * reasons.
 */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/livez', '/readyz']);

/**
 * Checks access by token. Without a token, HTTP listens on loopback only, and the `Host` header must name loopback,
 * against DNS rebinding.
 */
export class Access {
  readonly #tokens: BearerTokens;
  readonly #isLoopback: boolean;
  /** Whether only the open paths are served, because no token is set. */
  readonly isSealed: boolean;
  readonly #needsToken: boolean;

  /** @param isSealed whether a token is required on loopback too */
  constructor(token: string | undefined, isLoopback: boolean, isSealed: boolean) {
    this.#tokens = new BearerTokens(token === undefined ? [] : [token]);
    this.#isLoopback = isLoopback;
    this.isSealed = isSealed && token === undefined;
    this.#needsToken = isSealed || token !== undefined;
  }

  /** Returns whether the reply may say more than its status. */
  mayReadReasons({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
    return !this.#needsToken || this.#tokens.indexOf(headers.authorization) >= 0;
  }

  refusal({ headers }: Pick<IncomingMessage, 'headers'>, path: string): HttpRefusal | undefined {
    if (OPEN_PATHS.has(path)) return undefined;
    if (this.#tokens.count > 0) return this.#tokens.indexOf(headers.authorization) < 0 ? 'token' : undefined;
    if (this.isSealed) return 'token';
    if (this.#isLoopback && !isLoopbackName(headers.host ?? '')) return 'host';
    return undefined;
  }
}
