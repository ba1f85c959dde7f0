import { readdirSync, readFileSync } from 'node:fs';
import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeFailure } from './failure.js';

it.each([
  [() => readFileSync('/nowhere/x'), 'cannot open /nowhere/x: there is no such file or folder'],
  [() => readdirSync('/dev/null'), 'cannot list /dev/null: a part of the path is not a folder'],
])('says which file the system refused, what for and why', (act, message) => {
  expect(describeFailure(thrownBy(act))).toMatchObject({ exitCode: 2, code: 'bad-file', message });
});

it('reports an error of a file without its path as it is', () => {
  const error = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  expect(describeFailure(error)).toMatchObject({ code: 'bad-file', message: error.message });
});

it('reports other errors as bugs', () => {
  expect(describeFailure(new TypeError('x is null'))).toMatchObject({
    exitCode: 1,
    code: 'internal',
    message: 'unexpected: x is null',
  });
});

it('describes whatever a module of the user throws', () => {
  fc.assert(
    fc.property(thrownKinds, (kind) => {
      expect(describeFailure(thrownOf(kind)).message).not.toBe('');
    }),
  );
});

it('omits the middle of long input that a message repeats', () => {
  const { message } = describeFailure(new Error(`"${'x'.repeat(100_000)}" is not a number`));
  expect(message).toMatch(/^unexpected: "x+ … x+" is not a number$/);
  expect(message.length).toBeLessThan(5_000);
});

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
