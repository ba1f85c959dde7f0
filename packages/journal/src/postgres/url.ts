import { readFileSync } from 'node:fs';
import { present } from '@goshawk/core';
import { JournalError } from '../errors.js';

/** Where a PostgreSQL is, as libpq writes it; several hosts where it fails over from one to another. */
export interface JournalUrl {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly tls: Tls;
  /** For people: without the password. */
  readonly shown: string;
}

/** `false`: not encrypted. */
type Tls =
  | false
  | {
      /** The server’s certificate has to be signed by somebody known. */
      readonly rejectUnauthorized: boolean;
      /** And be the host’s. */
      readonly checksHost: boolean;
      readonly ca?: string;
      readonly cert?: string;
      readonly key?: string;
    };

const PORT = 5432;
const KNOWN = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host', 'port', 'target_session_attrs'];

/** Whether this names a journal in PostgreSQL. */
export function isJournalUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full&sslrootcert=FILE`.
 *
 * @throws JournalError `journal-url`
 */
export function parseJournalUrl(text: string): JournalUrl {
  const parts = /^postgres(?:ql)?:\/\/(?:([^:@/]*)(?::([^@]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(
    text,
  );
  if (parts === null) throw bad('it is not a URL of PostgreSQL');
  const [, user, password, places = '', database, query] = parts;
  const settings = new URLSearchParams(query ?? '');
  for (const name of settings.keys()) if (!KNOWN.includes(name)) throw bad(`it has the unknown part ${name}`);
  const target = settings.get('target_session_attrs') ?? 'read-write';
  if (target !== 'read-write' && target !== 'primary')
    throw bad(`target_session_attrs=${target} cannot be written to`);
  const named = settings.get('host') ?? places;
  const ports = settings.get('port')?.split(',') ?? [];
  const hosts = named.split(',').map((place, index) => {
    const match = /^(.*?)(?::(\d+))?$/.exec(place)!;
    const host = decodeURIComponent(match[1]!).replace(/^\[(.*)\]$/, '$1');
    return { host: host || 'localhost', port: Number(match[2] ?? ports[index] ?? ports[0] ?? PORT) };
  });
  const secret = password === undefined ? '' : ':…';
  return {
    hosts,
    user: decoded(user),
    password: decoded(password),
    database: decoded(database),
    tls: tlsOf(settings),
    shown: `postgres://${user === undefined ? '' : `${user}${secret}@`}${places}/${database ?? ''}`,
  };
}

function tlsOf(settings: URLSearchParams): Tls {
  const mode = settings.get('sslmode') ?? 'disable';
  if (mode === 'disable') return false;
  if (!['require', 'verify-ca', 'verify-full'].includes(mode))
    throw bad(`sslmode=${mode} is none of disable, require, verify-ca and verify-full`);
  const file = (name: string): string | undefined => {
    const path = settings.get(name);
    try {
      return path === null ? undefined : readFileSync(path, 'utf8');
    } catch (error) {
      throw bad(`${name} cannot be read: ${(error as Error).message}`);
    }
  };
  const [ca, cert, key] = [file('sslrootcert'), file('sslcert'), file('sslkey')];
  return {
    rejectUnauthorized: mode !== 'require',
    checksHost: mode === 'verify-full',
    ...present({ ca, cert, key }),
  };
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text);
}

function bad(problem: string): JournalError {
  return new JournalError(
    'journal-url',
    `the journal’s URL cannot be used: ${problem}`,
    'give postgres://USER:PASSWORD@HOST:PORT/DATABASE, several hosts with commas between them',
  );
}
