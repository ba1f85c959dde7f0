import { expect, it } from 'vitest';
import { spawnOrder } from './exec-order.js';

const order = { env: { GOSHAWK_TASK: '3' }, outputBytesMax: 10 };

it('passes a command unchanged, without a shell', () => {
  const payload = { exec: ['echo', '$HOME; rm *'], cwd: '/' };
  expect(spawnOrder({ ...order, payload }, payload)).toEqual({
    command: 'echo',
    args: ['$HOME; rm *'],
    env: { GOSHAWK_TASK: '3' },
    cwd: '/',
    outputBytesMax: 10,
    hasStdin: false,
  });
});

it('passes further arguments to a shell as its parameters', () => {
  const payload = { exec: ['echo "$1"', 'a b'], shell: true, stdin: '' };
  expect(spawnOrder({ ...order, payload }, payload)).toMatchObject({
    command: '/bin/sh',
    args: ['-c', 'echo "$1"', '/bin/sh', 'a b'],
    hasStdin: true,
  });
});

it('variables of the order override those of the payload', () => {
  const payload = { exec: ['env'], env: { GOSHAWK_TASK: '4', A: 'b' } };
  expect(spawnOrder({ ...order, payload }, payload).env).toEqual({ GOSHAWK_TASK: '3', A: 'b' });
});
