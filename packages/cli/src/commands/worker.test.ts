import { expect, it } from 'vitest';
import { allowedBy } from './worker.js';

const DEFAULTS = { exec: true, execOnly: [], module: true, moduleOnly: [] };

it.each([
  [{}, { exec: true, module: true }],
  [{ exec: false }, { exec: false, module: true }],
  [{ execOnly: ['/bin/sh'] }, { exec: ['/bin/sh'], module: false }],
  [{ moduleOnly: ['/'] }, { exec: false, module: ['/'] }],
  [
    { execOnly: ['/bin/sh'], moduleOnly: ['/'] },
    { exec: ['/bin/sh'], module: ['/'] },
  ],
  [
    { execOnly: ['/bin/sh'], exec: false },
    { exec: false, module: false },
  ],
])('with %j, a worker runs %j', (given, allowed) => {
  expect(allowedBy({ ...DEFAULTS, ...given })).toEqual(allowed);
});

it('listed paths must be absolute and exist', () => {
  expect(() => allowedBy({ ...DEFAULTS, execOnly: ['sh'] })).toThrow(
    /--exec-only: sh is not an absolute path/,
  );
});
