import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JournalError } from '../errors.js';
import { parseJournalUrl, shownJournalUrl } from './url.js';

/** Escapes only what a password requires: `@` and `:` may remain. */
const escaped = (text: string) => text.replaceAll(/[%/?#]/g, (sign) => encodeURIComponent(sign));

describe('a URL of PostgreSQL', () => {
  it.each([
    ['u:hunter@2secret@db', 'u', 'hunter@2secret', 'db'],
    ['u:a:b@db', 'u', 'a:b', 'db'],
    ['u:%40%25%2F%3F%23%3a@db', 'u', '@%/?#:', 'db'],
    ['u:p%20q r+s@db', 'u', 'p q r+s', 'db'],
    ['u:p%252F q@db', 'u', 'p%2F q', 'db'],
    ['u%40home:é%C3%A9🦅@db', 'u@home', 'éé🦅', 'db'],
    ['u:[x]^|\\"\'@db', 'u', '[x]^|\\"\'', 'db'],
    ['u:@db', 'u', undefined, 'db'],
    ['u@db', 'u', undefined, 'db'],
    ['db', undefined, undefined, 'db'],
  ])('%s', (authority, user, password, host) => {
    expect(parseJournalUrl(`postgres://${authority}/jobs`)).toMatchObject({
      hosts: [{ host, port: 5432 }],
      user,
      password,
      database: 'jobs',
      tls: false,
    });
  });

  it('accepts user, password and database in the query', () => {
    const url = parseJournalUrl('POSTGRES://db:1/x?user=ada&password=p%25%40ss&dbname=a%2Fb');
    expect(url).toMatchObject({
      user: 'ada',
      password: 'p%@ss',
      database: 'a/b',
      hosts: [{ host: 'db', port: 1 }],
    });
    expect(url.shown).toBe('postgres://ada:…@db:1/a%2Fb');
  });

  it.each([
    ['u:100%@db', 'it has a bad percent escape; write a literal % as %25'],
    ['u:%ff@db', 'bad percent escape'],
    ['u:pa/ss@db', 'write a / or ? before the @ as'],
    ['u:pa?ss@db', 'write a / or ? before the @ as'],
    ['u:pa#ss@db', 'it has a #'],
    ['u:pa\nss@db', 'control character'],
    ['u:pass@db:99999', 'a port is a whole number'],
    ['u:pass', 'a port is a whole number'],
  ])('%s is refused in one line that does not repeat it', (authority, problem) => {
    const refused = errorOf(`postgres://${authority}/jobs`);
    expect(refused).toMatchObject({ code: 'journal-url', message: expect.stringContaining(problem) });
    expect(refused.message).not.toMatch(/u:|ss@|100|\n/);
  });

  it('without its scheme is refused', () => {
    expect(errorOf('NaN')).toMatchObject({
      message: expect.stringContaining('it does not begin with postgres://'),
    });
  });

  it('with any password: parses it, and never shows it', () => {
    const password = fc
      .string({ unit: 'binary', minLength: 4, maxLength: 16 })
      .filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(password, fc.boolean(), (text, isInQuery) => {
        fc.pre(!'postgres://ada:…@db1:1,db2/jobs'.includes(text));
        const secret = encodeURIComponent(text);
        const url = isInQuery
          ? `postgres://ada@db1:1,db2/jobs?password=${secret}`
          : `postgres://ada:${secret}@db1:1,db2/jobs`;
        const { password, shown } = parseJournalUrl(url);
        expect(password).toBe(text);
        expect(shown).toBe('postgres://ada:…@db1:1,db2/jobs');
      }),
    );
  });

  it('with unescaped characters: is parsed or refused, and never shown', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 5, maxLength: 16 }), fc.boolean(), (text, isEscaped) => {
        const url = `postgres://ada:${isEscaped ? escaped(text) : text}@db/jobs`;
        fc.pre(!'postgres://ada:…@db/jobs'.includes(text));
        expect(shownJournalUrl(url)).not.toContain(text);
        try {
          const parsed = parseJournalUrl(url);
          if (isEscaped) expect(parsed.password).toBe(text);
        } catch (error) {
          expect(`${(error as JournalError).message} ${(error as JournalError).hint}`).not.toContain(text);
        }
      }),
    );
  });
});

function errorOf(url: string): JournalError {
  try {
    parseJournalUrl(url);
  } catch (error) {
    return error as JournalError;
  }
  throw new Error(`${url} was accepted`);
}
