import { expect, test } from 'vitest';
import { isLoopbackEndpoint } from './loopback.js';

test.each(['localhost', '::1', '127.0.0.1', '127.1.2.3'])('%s is loopback', (host) => {
  expect(isLoopbackEndpoint(`tcp://${host.includes(':') ? `[${host}]` : host}:7070`)).toBe(true);
});

test.each(['*', '0.0.0.0', '::', '10.0.0.7', '127.evil.example', '127.0.0.1.evil.example', '127.999.0.1'])(
  '%s is not',
  (host) => {
    expect(isLoopbackEndpoint(`tcp://${host.includes(':') ? `[${host}]` : host}:7070`)).toBe(false);
  },
);

test('an invalid endpoint is not', () => {
  expect(isLoopbackEndpoint('127.0.0.1:7070')).toBe(false);
});
