import { describe, expect, it, test } from 'vitest';
import { Access, type AccessRules, checkRole, parseTokens } from './access.js';

const TOKENS = parseTokens('read reader-reader-1234\noperate operator-operator-1 # ann\n', 'tokens');
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function access(rules: Partial<AccessRules> = {}): Access {
  return new Access({ isLoopback: true, tokens: [], most: 'operate', hosts: [], ...rules });
}

describe('on loopback, without tokens', () => {
  it.each(['localhost:7080', '127.0.0.1', '[::1]:7080', 'LOCALHOST'])(
    'whoever asks %s may do all',
    (host) => {
      expect(access().admit('GET', { host })).toBe('operate');
      expect(access().admit('POST', { host, ...JSON_TYPE })).toBe('operate');
    },
  );

  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:7080', '', '10.0.0.7'])(
    'nobody is served who asks %s (DNS rebinding)',
    (host) => {
      expect(() => access().admit('GET', { host })).toThrow('unknown host name');
    },
  );

  it('a name that was allowed is served', () => {
    expect(access({ hosts: ['goshawk.example'] }).admit('GET', { host: 'Goshawk.example:443' })).toBe(
      'operate',
    );
  });
});

describe('what changes something', () => {
  const host = 'localhost:7080';

  it('comes from the page itself, or from no page', () => {
    expect(access().admit('POST', { host, origin: `http://${host}`, ...JSON_TYPE })).toBe('operate');
    for (const origin of ['http://evil.example', 'http://localhost:9999', 'null', 'https://localhost']) {
      expect(() => access().admit('POST', { host, origin, ...JSON_TYPE })).toThrow('another site');
    }
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; a=b'])(
    'is refused as %s, which a form of another site can send',
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

  it('say what somebody may do', () => {
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

  it('give no more than is allowed here', () => {
    const looking = access({ tokens: TOKENS, isLoopback: false, most: 'read' });
    expect(looking.admit('GET', { host: 'h', authorization: 'Bearer operator-operator-1' })).toBe('read');
  });

  it('are needed beyond loopback', () => {
    expect(() => access({ isLoopback: false })).toThrow('beyond loopback, anyone on the network');
  });

  it.each(['write aaaaaaaaaaaaaaaaaaaa', 'read short', 'read aaaaaaaaaaaaaaaaaaaa bbb', 'read'])(
    'are not read from the line %s',
    (line) => {
      expect(() => parseTokens(`\n${line}\n`, 'tokens')).toThrow('tokens, line 2: expected a role');
    },
  );
});

it('a token may have a # in it', () => {
  expect(parseTokens('read reader#reader#1234 # ann', 'tokens')).toEqual([
    { role: 'read', token: 'reader#reader#1234' },
  ]);
});

test('each role may do what those before it may', () => {
  checkRole('operate', 'read');
  checkRole('submit', 'submit');
  expect(() => checkRole('read', 'submit')).toThrow('requires the role submit; you have read');
});
