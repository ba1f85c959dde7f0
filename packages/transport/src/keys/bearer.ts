import { createHash, timingSafeEqual } from 'node:crypto';

/** Accepted tokens of HTTP requests (`Authorization: Bearer TOKEN`). Only their hashes are kept. */
export class BearerTokens {
  readonly #hashes: readonly Buffer[];

  constructor(tokens: readonly string[]) {
    this.#hashes = tokens.map(tokenHash);
  }

  get count(): number {
    return this.#hashes.length;
  }

  /** Compares with all tokens, each in constant time. @returns the place of the request's token; −1: none is accepted */
  indexOf(authorization: string | undefined): number {
    const given = tokenHash(bearerIn(authorization) ?? '');
    return this.#hashes.map((hash) => timingSafeEqual(hash, given)).indexOf(true);
  }
}

/** Returns the token of a request; undefined if it has none. */
export function bearerIn(authorization: string | undefined): string | undefined {
  return /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1];
}

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
