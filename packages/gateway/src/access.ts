import type { IncomingHttpHeaders } from 'node:http';
import { InputError, isLoopbackName } from '@goshawk/core';
import { BearerTokens, bearerToken } from '@goshawk/transport';
import { Refused } from './errors.js';

/** Roles in ascending order of permissions. */
export const ROLES = ['read', 'submit', 'operate'] as const;
export type Role = (typeof ROLES)[number];

export interface Token {
  readonly role: Role;
  readonly token: string;
}

export interface AccessRules {
  /** Whether only processes of this machine can connect. */
  readonly isLoopback: boolean;
  /** Accepted tokens. If empty, every connection has access. */
  readonly tokens: readonly Token[];
  /** Upper bound on the role of any token. */
  readonly most: Role;
  /** Accepted host names besides loopback. If empty, a gateway with tokens accepts any name. */
  readonly hosts: readonly string[];
}

/**
 * Checks authorization. Tokens are in `Authorization`, which other sites cannot set. Without tokens, the
 * check of `Host` prevents DNS rebinding, and the checks of `Origin` and the content type prevent cross-site
 * forms (CSRF).
 */
export class Access {
  readonly #rules: AccessRules;
  readonly #tokens: BearerTokens;

  /** @throws InputError `insecure-bind` if anyone on the network could send requests */
  constructor(rules: AccessRules) {
    this.#rules = rules;
    this.#tokens = new BearerTokens(rules.tokens.map(({ token }) => token));
    if (!rules.isLoopback && rules.tokens.length === 0) {
      throw new InputError(
        'insecure-bind',
        'beyond loopback, anyone on the network could view the cluster',
        'set tokens with --token-file, or listen on 127.0.0.1',
      );
    }
  }

  /**
   * @returns the role of the sender
   * @throws Refused
   */
  admit(method: string, headers: IncomingHttpHeaders): Role {
    this.#checkHost(headers.host ?? '');
    if (method !== 'GET' && method !== 'HEAD') checkSource(headers, this.#rules.hosts);
    const role = this.#roleOf(headers.authorization);
    if (role === undefined) {
      const isToken = bearerToken(headers.authorization) !== undefined;
      const what = isToken
        ? 'this token is not valid for this dashboard'
        : 'a bearer token is required (Authorization: Bearer TOKEN)';
      throw new Refused(401, 'token-needed', what, 'ask the operator of the dashboard for a token');
    }
    return ROLES[Math.min(ROLES.indexOf(role), ROLES.indexOf(this.#rules.most))]!;
  }

  get tokens(): number {
    return this.#tokens.count;
  }

  /** Identifies the sender of a request by its token; the empty text: it has no valid one. */
  clientOf({ authorization }: IncomingHttpHeaders): string {
    const index = this.tokens === 0 ? -1 : this.#tokens.indexOf(authorization);
    return index < 0 ? '' : `${index}`;
  }

  #checkHost(host: string): void {
    const name = host.replace(/:\d{1,5}$/, '').toLowerCase();
    const { hosts, tokens, isLoopback } = this.#rules;
    if (hosts.some((known) => known.toLowerCase() === name)) return;
    if (isLoopback && isLoopbackName(name)) return;
    if (!isLoopback && hosts.length === 0 && tokens.length > 0) return;
    throw new Refused(
      421,
      'wrong-host',
      `unknown host name ${JSON.stringify(name.slice(0, 100))}`,
      'use the name localhost, or add this name with --allow-host',
    );
  }

  #roleOf(authorization: string | undefined): Role | undefined {
    return this.tokens === 0 ? 'operate' : this.#rules.tokens[this.#tokens.indexOf(authorization)]?.role;
  }
}

/**
 * @param hosts names of proxies, which may change `Host` but not `Origin`
 * @throws Refused for requests that a form or script of another site may have sent
 */
function checkSource(
  { host, origin, 'content-type': type = '' }: IncomingHttpHeaders,
  hosts: readonly string[],
): void {
  if (origin !== undefined && !isOwnOrigin(origin, host, hosts)) {
    throw new Refused(
      403,
      'wrong-origin',
      'the request came from a page of another site',
      'if this is the page of this dashboard behind a proxy, add the name of the proxy with --allow-host',
    );
  }
  // Another site needs CORS permission to send these types. The gateway grants no such permission.
  if (!/^application\/(json|octet-stream)\b/i.test(type)) {
    throw new Refused(
      415,
      'json-needed',
      'requests that change something need content-type: application/json',
    );
  }
}

function isOwnOrigin(origin: string, host: string | undefined, hosts: readonly string[]): boolean {
  try {
    const from = new URL(origin);
    return from.host === host || hosts.some((known) => known.toLowerCase() === from.hostname);
  } catch {
    return false;
  }
}

/** @throws Refused */
export function checkRole(has: Role, needed: Role): void {
  if (ROLES.indexOf(has) >= ROLES.indexOf(needed)) return;
  throw new Refused(
    403,
    'role-needed',
    `this requires the role ${needed}; you have ${has}`,
    'use a token with that role, or start `goshawk dashboard --allow`',
  );
}

/**
 * Parses a token file: a role and a token per line; `#` starts a comment at the beginning of a line or after a space.
 *
 * @throws InputError if there is none, or one is invalid
 */
export function parseTokens(text: string, source: string): Token[] {
  const lines = text.split('\n').map((line) => line.replace(/(^|\s)#.*/, '').trim());
  const tokens = lines.flatMap((line, index) => {
    if (line === '') return [];
    const [role, token, ...more] = line.split(/\s+/);
    const known = ROLES.find((one) => one === role);
    if (known === undefined || more.length > 0 || !/^[\x21-\x7e]{16,512}$/.test(token ?? '')) {
      throw new InputError(
        'bad-token',
        `${source}, line ${index + 1}: expected a role (${ROLES.join(', ')}) and a token of 16 to 512 printable ASCII characters without spaces`,
        'create one with `openssl rand -hex 32`',
      );
    }
    return [{ role: known, token: token! }];
  });
  if (tokens.length > 0) return tokens;
  throw new InputError('bad-token', `${source} contains no token`, 'write a role and a token on a line');
}
