import fs from 'node:fs';
import { decodeText, present, readRegularFile, whyUnread } from '@goshawk/core';
import { parse } from 'pg-connection-string';
import { JournalError } from '../errors.js';

/** A PostgreSQL URL as libpq accepts it, with several hosts for failover. */
export interface JournalUrl {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly tls: Tls;
  /** For display: without the password. */
  readonly shown: string;
}

/** `false`: not encrypted. */
type Tls =
  | false
  | {
      /** Whether the server's certificate must be signed by a trusted authority. */
      readonly rejectUnauthorized: boolean;
      /** Whether the certificate must also match the host. */
      readonly checksHost: boolean;
      readonly ca?: string;
      readonly cert?: string;
      readonly key?: string;
    };

const PORT = 5432;
const KNOWN = [
  'dbname',
  'host',
  'password',
  'port',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'target_session_attrs',
  'user',
];

/** Whether this names a journal in PostgreSQL. */
export function isJournalUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full&sslrootcert=FILE`. A password may
 * contain `@` and `:` unescaped; `%`, `/`, `?` and `#` are written `%25`, `%2F`, `%3F` and `%23`.
 *
 * @throws JournalError `journal-url`, which repeats nothing that may be part of a password
 */
export function parseJournalUrl(text: string): JournalUrl {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: URLs drop them, and a password would lose them
  if (/[\u0000-\u001f\u007f]/.test(text)) throw bad('it has a control character');
  if (!/^postgres(?:ql)?:\/\//i.test(text)) throw bad('it does not begin with postgres://');
  const parts = /^postgres(?:ql)?:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(text);
  if (parts === null) throw bad('it has a #; write it as %23');
  const [, authority = '', path = '', query = ''] = parts;
  if (`${path}?${query.replaceAll(/password=[^&]*/g, '')}`.includes('@'))
    throw bad('write a / or ? before the @ as %2F or %3F, and an @ after the hosts as %40');
  if (/%(?![0-9a-f]{2})/i.test(text)) throw bad('it has a bad percent escape; write a literal % as %25');
  const at = authority.lastIndexOf('@');
  const places = authority.slice(at + 1);
  const settings = new URLSearchParams(query);
  for (const name of settings.keys()) if (!KNOWN.includes(name)) throw bad(`it has the unknown part ${name}`);
  const target = settings.get('target_session_attrs') ?? 'read-write';
  if (target !== 'read-write' && target !== 'primary')
    throw bad(`target_session_attrs=${target} selects a read-only server`);
  const { user, password } = credentials(authority.slice(0, at + 1), settings);
  const database = settings.get('dbname') || decoded(path);
  const shownUser =
    user === undefined ? '' : `${encodeURIComponent(user)}${password === undefined ? '' : ':…'}@`;
  return {
    hosts: hostsOf(settings.get('host') ?? places, settings.get('port')?.split(',') ?? []),
    user,
    password,
    database,
    tls: tlsOf(settings),
    shown: `postgres://${shownUser}${places}/${database === undefined ? '' : encodeURIComponent(database)}`,
  };
}

/** Returns the URL for display: `postgres://…` if it is invalid, because any part of it may be the password. */
export function shownJournalUrl(text: string): string {
  try {
    return parseJournalUrl(text).shown;
  } catch {
    return 'postgres://…';
  }
}

/** @param userInfo `USER:PASSWORD@`, or empty; query parameters take precedence, as in libpq */
function credentials(userInfo: string, settings: URLSearchParams): Pick<JournalUrl, 'user' | 'password'> {
  let found: { readonly user?: string | undefined; readonly password?: string | undefined };
  try {
    // The parser would escape a text with spaces a second time.
    found = parse(`postgres://${userInfo.replaceAll(' ', '%20')}host/`);
  } catch (error) {
    throw bad('its user name or password has a bad percent escape', error);
  }
  return {
    user: settings.get('user') || found.user || undefined,
    password: settings.get('password') || found.password || undefined,
  };
}

function hostsOf(places: string, ports: readonly string[]): JournalUrl['hosts'] {
  return places.split(',').map((place, index) => {
    const [, name = '', ownPort] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(place) ?? [];
    const port = Number(ownPort || ports[index] || ports[0] || PORT);
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw bad('a port is a whole number from 1 to 65535');
    const host = decoded(name)?.replace(/^\[(.*)\]$/, '$1');
    return { host: host || 'localhost', port };
  });
}

function tlsOf(settings: URLSearchParams): Tls {
  // Unlike libpq, whose default `prefer` may fall back to plain text unnoticed.
  const mode = settings.get('sslmode') ?? 'disable';
  if (mode === 'disable') return false;
  if (!['require', 'verify-ca', 'verify-full'].includes(mode))
    throw bad(`sslmode=${mode} must be disable, require, verify-ca or verify-full`);
  const file = (name: string): string | undefined => {
    const path = settings.get(name);
    try {
      return path === null ? undefined : decodeText(readRegularFile(fs, path), name);
    } catch (error) {
      throw bad(`${name} cannot be read: ${whyUnread(error)}`);
    }
  };
  const [ca, cert, key] = [file('sslrootcert'), file('sslcert'), file('sslkey')];
  return {
    rejectUnauthorized: mode !== 'require',
    checksHost: mode === 'verify-full',
    ...present({ ca, cert, key }),
  };
}

function decoded(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw bad('it has a bad percent escape', error);
  }
}

function bad(problem: string, cause?: unknown): JournalError {
  return new JournalError(
    'journal-url',
    `the journal URL cannot be used: ${problem}`,
    'use postgres://USER:PASSWORD@HOST:PORT/DATABASE, with several hosts comma-separated',
    { cause },
  );
}
