import { describe, expect, it, test } from 'vitest';
import { Access, type AccessRules, checkRole, parseTokens } from './access.js';

const TOKENS = parseTokens('read reader-reader-1234\noperate operator-operator-1 # ann\n', 'tokens');
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function access(rules: Partial<AccessRules> = {}): Access {
  return new Access({ isLoopback: true, tokens: [], most: 'operate', hosts: [], ...rules });
}

it.each(['', ' ', '\n\n', '# read reader-reader-1234\n'])(
  'a token file without a token, %j, does not mean a page for everyone',
  (text) => {
    expect(() => parseTokens(text, 'tokens')).toThrow('tokens contains no token');
  },
);

describe('on loopback, without tokens', () => {
  it.each(['localhost:7080', '127.0.0.1', '[::1]:7080', 'LOCALHOST'])(
    'requests with %s may do everything',
    (host) => {
      expect(access().admit('GET', { host })).toBe('operate');
      expect(access().admit('POST', { host, ...JSON_TYPE })).toBe('operate');
    },
  );

  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:7080', '', '10.0.0.7'])(
    'requests with %s are refused (DNS rebinding)',
    (host) => {
      expect(() => access().admit('GET', { host })).toThrow('unknown host name');
    },
  );

  it('a request for an allowed name is served', () => {
    expect(access({ hosts: ['goshawk.example'] }).admit('GET', { host: 'Goshawk.example:443' })).toBe(
      'operate',
    );
  });
});

describe('a request that changes something', () => {
  const host = 'localhost:7080';

  it('is accepted from the page itself, or without an origin', () => {
    expect(access().admit('POST', { host, origin: `http://${host}`, ...JSON_TYPE })).toBe('operate');
    for (const origin of ['http://evil.example', 'http://localhost:9999', 'null', 'https://localhost']) {
      expect(() => access().admit('POST', { host, origin, ...JSON_TYPE })).toThrow('another site');
    }
  });

  it('is accepted from the page at the name of a proxy, which may send another host name or omit the port', () => {
    const behind = access({ hosts: ['Goshawk.example'] });
    for (const [host, origin] of [
      ['127.0.0.1:7080', 'https://goshawk.example'],
      ['goshawk.example', 'https://goshawk.example:8443'],
    ] as const) {
      expect(behind.admit('POST', { host, origin, ...JSON_TYPE })).toBe('operate');
      const others = access({ hosts: ['other.example', 'goshawk.example.evil'] });
      expect(() => others.admit('POST', { host: '127.0.0.1', origin, ...JSON_TYPE })).toThrow(
        expect.objectContaining({ hint: expect.stringContaining('--allow-host') }),
      );
    }
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; a=b'])(
    'is refused as %s, which a form on another site can send',
    (type) => {
      const headers = type === undefined ? { host } : { host, 'content-type': type };
      for (const method of ['POST', 'PUT', 'DELETE']) {
        expect(() => access().admit(method, headers)).toThrow('application/json');
      }
    },
  );
});

describe('tokens', () => {
  const guarded = access({ tokens: TOKENS, isLoopback: false });

  it('determine what a client may do', () => {
    const host = '10.0.0.7:7080';
    expect(guarded.admit('GET', { host, authorization: 'Bearer reader-reader-1234' })).toBe('read');
    expect(guarded.admit('GET', { host, authorization: 'bearer operator-operator-1' })).toBe('operate');
    for (const authorization of [undefined, 'Bearer', 'Basic cmVhZGVy', 'Bearer ']) {
      const headers = authorization === undefined ? { host } : { host, authorization };
      expect(() => guarded.admit('GET', headers)).toThrow('Bearer TOKEN');
    }
    expect(() => guarded.admit('GET', { host, authorization: 'Bearer reader-reader-123' })).toThrow(
      'this token is not valid for this dashboard',
    );
  });

  it('grant no more than this server allows', () => {
    const looking = access({ tokens: TOKENS, isLoopback: false, most: 'read' });
    expect(looking.admit('GET', { host: 'h', authorization: 'Bearer operator-operator-1' })).toBe('read');
  });

  it('are required beyond loopback', () => {
    expect(() => access({ isLoopback: false })).toThrow('beyond loopback, anyone on the network');
  });

  it.each(['write aaaaaaaaaaaaaaaaaaaa', 'read short', 'read aaaaaaaaaaaaaaaaaaaa bbb', 'read'])(
    'are not parsed from the line %s',
    (line) => {
      expect(() => parseTokens(`\n${line}\n`, 'tokens')).toThrow('tokens, line 2: expected a role');
    },
  );
});

it('may contain a #', () => {
  expect(parseTokens('read reader#reader#1234 # ann', 'tokens')).toEqual([
    { role: 'read', token: 'reader#reader#1234' },
  ]);
});

test('each role includes the lower ones', () => {
  checkRole('operate', 'read');
  checkRole('submit', 'submit');
  expect(() => checkRole('read', 'submit')).toThrow('requires the role submit; you have read');
});
