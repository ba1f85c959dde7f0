import { expect, it } from 'vitest';
import { reasonIn } from './child.js';

it.each([
  ['', ''],
  ['{"level":50,"msg":"port in use"}\n', '{"level":50,"msg":"port in use"}'],
  [
    [
      'node:internal/process/finalization',
      '    throw err;',
      '    ^',
      '',
      'Error: ENOENT: no such file or directory, uv_cwd',
      '    at wrappedCwd (node:internal/bootstrap/switches)',
      '    at node:internal/main/run_main_module {',
      '  errno: -2,',
      "  code: 'ENOENT',",
      "  syscall: 'uv_cwd'",
      '}',
      '',
      'Node.js v20.20.2',
      '',
    ].join('\n'),
    'Error: ENOENT: no such file or directory, uv_cwd',
  ],
  [
    'node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError [ERR_X]: no module\n    at x\n\nNode.js v22.1.0\n',
    'Error [ERR_X]: no module',
  ],
])('the reason in %j is %j', (said, reason) => {
  expect(reasonIn(said)).toBe(reason);
});
