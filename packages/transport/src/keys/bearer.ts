import { createHash, timingSafeEqual } from 'node:crypto';

/** `sha256:HEX` instead of a token: a process that only compares tokens need not know any, and neither need its tasks. */
const HASH = /^sha256:([0-9a-f]{64})$/i;

/** The tokens that the HTTP server accepts (`Authorization: Bearer TOKEN`). Only their hashes are stored. */
export class BearerTokens {
  readonly #hashes: readonly Buffer[];

  /** @param tokens each a token, or its hash as `sha256:HEX` */
  constructor(tokens: readonly string[]) {
    this.#hashes = tokens.map((token) => {
      const hash = HASH.exec(token)?.[1];
      return hash === undefined ? tokenHash(token) : Buffer.from(hash, 'hex');
    });
  }

  get count(): number {
    return this.#hashes.length;
  }

  /** Returns the index of the request's token, or −1 if it is not accepted. Each comparison takes constant time. */
  indexOf(authorization: string | undefined): number {
    const given = tokenHash(bearerToken(authorization) ?? '');
    return this.#hashes.map((hash) => timingSafeEqual(hash, given)).indexOf(true);
  }
}

/** Returns the token of a request; undefined if it has none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1];
}

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
