import { describe, expect, test } from 'vitest';
import { InvalidEndpointError, UnresolvableHostError } from '../errors.js';
import { formatTcp, hasHostName, isWildcard, parseEndpoint, resolveEndpoint } from './endpoint.js';

describe('endpoints', () => {
  test('are parsed', () => {
    expect(parseEndpoint('tcp://127.0.0.1:7000')).toStrictEqual({ host: '127.0.0.1', port: 7000 });
    expect(parseEndpoint('tcp://[::1]:0')).toStrictEqual({ host: '::1', port: 0 });
  });

  test.each([
    '',
    'tcp://',
    'tcp://a',
    'a:1',
    'tcp://a:b',
    'tcp://a:1/x',
    'tcp://a:123456',
    'udp://a:1',
    'ipc:///tmp/x.sock',
    'tcp://$(POD_IP):7072',
    'tcp://a b:1',
  ])('%j is refused with the expected format', (text) => {
    expect(() => parseEndpoint(text)).toThrow(/is not an endpoint: expected tcp:\/\/HOST:PORT/);
  });

  test('a port that is too large is refused, because ZeroMQ would use another one', () => {
    expect(() => parseEndpoint('tcp://127.0.0.1:65536')).toThrow(InvalidEndpointError);
  });

  test('are classified as host name, address or wildcard', () => {
    expect(
      ['tcp://a:1', 'tcp://127.0.0.1:1', 'tcp://[::1]:1', 'tcp://*:1'].map(parseEndpoint).map(hasHostName),
    ).toStrictEqual([true, false, false, false]);
    expect(
      ['tcp://*:1', 'tcp://0.0.0.0:1', 'tcp://[::]:1', 'tcp://a:1'].map(parseEndpoint).map(isWildcard),
    ).toStrictEqual([true, true, true, false]);
  });

  test('are resolved to addresses', async () => {
    expect(await resolveEndpoint('tcp://127.0.0.1:7000')).toBe('tcp://127.0.0.1:7000');
    expect(await resolveEndpoint('tcp://localhost:7000')).toMatch(/^tcp:\/\/(127\.0\.0\.1|\[::1\]):7000$/);
    expect(formatTcp('::1', 7000)).toBe('tcp://[::1]:7000');
  });

  test('a host without an address is an error of one line', async () => {
    const failure = await resolveEndpoint('tcp://nowhere.invalid:7000').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnresolvableHostError);
    expect((failure as Error).message).toBe(
      'tcp://nowhere.invalid:7000: no address found for host "nowhere.invalid"; check the name, or give its IP address',
    );
  });
});
