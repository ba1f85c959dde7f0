import { expect, test } from 'vitest';
import { httpUrl, isLoopbackHost, isLoopbackName, parseBind } from './http-address.js';

test.each([
  ['127.0.0.1:7080', { host: '127.0.0.1', port: 7_080 }],
  ['[::1]:0', { host: '::1', port: 0 }],
  ['localhost:65535', { host: 'localhost', port: 65_535 }],
])('%s is a listening address', (bind, address) => {
  expect(parseBind(bind, '--http', '')).toStrictEqual(address);
  expect(httpUrl(parseBind(bind, '--http', ''))).toBe(`http://${bind}`);
});

test.each(['7080', '127.0.0.1', '127.0.0.1:65536', '::1:80', '[::1]', ':80'])('%s is not', (bind) => {
  expect(() => parseBind(bind, '--listen', '127.0.0.1:7080')).toThrow(`--listen: "${bind}" is not HOST:PORT`);
});

test.each(['localhost', '::1', '127.0.0.1', '127.1.2.3', '127.255.0.10'])('%s is loopback', (host) => {
  expect(isLoopbackHost(host)).toBe(true);
  const name = host.includes(':') ? `[${host}]` : host;
  expect([name, `${name}:80`, name.toUpperCase()].map(isLoopbackName)).toStrictEqual([true, true, true]);
});

test.each([
  '*',
  '0.0.0.0',
  '::',
  '10.0.0.7',
  '127.evil.example',
  '127.0.0.1.evil.example',
  '127.999.0.1',
  '',
])('%s is not loopback', (host) => {
  expect([isLoopbackHost(host), isLoopbackName(host), isLoopbackName(`${host}:80`)]).not.toContain(true);
});
