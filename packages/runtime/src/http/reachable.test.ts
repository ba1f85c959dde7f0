import { expect, test } from 'vitest';
import { reachableAt } from './reachable.js';

test.each([
  ['http://0.0.0.0:9090', 'tcp://10.0.0.7:7072', '10.0.0.7:9090'],
  ['http://0.0.0.0:9090', 'tcp://central:7070', 'central:9090'],
  ['http://[::]:9090', 'tcp://[fd00::7]:7072', '[fd00::7]:9090'],
  ['http://10.1.0.7:9090', 'tcp://10.0.0.7:7072', '10.1.0.7:9090'],
  ['http://127.0.0.1:9090', 'tcp://127.0.0.1:7072', '127.0.0.1:9090'],
  ['http://[::1]:9090', 'tcp://127.0.0.1:7072', '[::1]:9090'],
])('others reach the server %s of a process at %s at %s', (url, endpoint, at) => {
  expect(reachableAt(url, endpoint)).toBe(at);
});

test.each([
  ['http://127.0.0.1:9090', 'tcp://10.0.0.7:7072'],
  ['http://[::1]:9090', 'tcp://10.0.0.7:7072'],
])('others cannot reach %s of a process at %s', (url, endpoint) => {
  expect(reachableAt(url, endpoint)).toBeUndefined();
});
