import { createHash, timingSafeEqual } from 'node:crypto';

/** The tokens that the HTTP server accepts (`Authorization: Bearer TOKEN`). Only their hashes are stored. */
export class BearerTokens {
  readonly #hashes: readonly Buffer[];

  constructor(tokens: readonly string[]) {
    this.#hashes = tokens.map(tokenHash);
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
