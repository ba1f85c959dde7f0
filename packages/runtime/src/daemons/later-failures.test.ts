import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { holdLaterFailures, isThrownIn, receiveLaterFailures } from './later-failures.js';

function withStack(stack: string, fields: object = {}): Error {
  return Object.assign(new Error('x'), { stack }, fields);
}

test.each<[boolean, string, unknown]>([
  [
    true,
    'a frame of the policy',
    withStack('Error: x\n    at Timeout.plan (file:///srv/mine/policy.mjs:3:4)'),
  ],
  [true, 'a frame without a name', withStack('Error: x\n    at file:///srv/mine/policy.mjs:3:4')],
  [true, 'a file that the policy imports', withStack('Error: x\n    at go (/srv/mine/lib/order.js:3:4)')],
  [
    true,
    'our code that the policy calls',
    withStack(
      'Error: x\n    at again (/usr/lib/goshawk/main.js:1:2)\n    at plan (/srv/mine/policy.mjs:3:4)',
    ),
  ],
  [true, 'a value', 7],
  [true, 'no value', undefined],
  [true, 'an error without frames', withStack('Error: x\n    at JSON.parse (<anonymous>)')],
  [false, 'our code', withStack('Error: x\n    at run (/usr/lib/goshawk/main.js:1:2)')],
  [false, 'a folder with a similar name', withStack('Error: x\n    at run (/srv/mine2/main.js:1:2)')],
  [
    false,
    'the system',
    withStack('Error: read ECONNRESET\n    at TCP.onStreamRead (node:internal/stream_base_commons:216:20)', {
      syscall: 'read',
    }),
  ],
])('whether the policy threw is %s for %s', (is, _, thrown) => {
  expect(isThrownIn('/srv/mine', thrown)).toBe(is);
});

test('whatever the policy throws can be judged', () => {
  fc.assert(
    fc.property(thrownKinds, (kind) => {
      expect(typeof isThrownIn('/srv/mine', thrownOf(kind))).toBe('boolean');
    }),
  );
});

test('errors are held from before the module is loaded until they are received', () => {
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const other of others) process.on('uncaughtException', other);
  });
  holdLaterFailures('/srv/mine/policy.mjs');
  holdLaterFailures('/srv/other/estimator.mjs');
  const early = withStack('Error: x\n    at file:///srv/other/estimator.mjs:3:4');
  const late = withStack('Error: x\n    at file:///srv/mine/policy.mjs:3:4');
  process.emit('uncaughtException', early);
  const received: unknown[] = [];
  const stop = receiveLaterFailures((module, error) => received.push([module, error]));
  process.emit('uncaughtException', late);
  stop();
  process.emit('uncaughtException', late);
  expect(received).toEqual([
    ['/srv/other/estimator.mjs', early],
    ['/srv/mine/policy.mjs', late],
  ]);
});
