import { describe, expect, test } from 'vitest';
import { image, missing, named, runToEnd } from './docker.fixture.js';

const CASES: readonly (readonly [
  what: string,
  role: string,
  environment: Record<string, string>,
  says: RegExp,
])[] = [
  [
    'no keys',
    'central',
    { BIND: 'tcp://0.0.0.0:7070' },
    /without keys anyone there could run commands here; create keys with `goshawk keygen`/,
  ],
  [
    'no such key file',
    'worker',
    { KEYS: '/etc/goshawk/keys/worker.key' },
    /cannot read the key file \/etc\/goshawk\/keys\/worker\.key/,
  ],
  ['a port that is none', 'central', { BIND: 'tcp://127.0.0.1:70700' }, /port 70700 is above 65535/],
  ['a journal that cannot be read', 'scheduler', { DATA_FOLDER: '/root/journal' }, /\/root\/journal/],
  [
    'HTTP for everybody, without a token',
    'central',
    { HTTP: '0.0.0.0:9090' },
    /set a token with GOSHAWK_HTTP_TOKEN/,
  ],
  [
    'too few folders',
    'scheduler',
    { DATA_FOLDERS: 'ten' },
    /GOSHAWK_DATA_FOLDERS: "ten" is not a whole number/,
  ],
];

describe.skipIf(missing !== undefined)(named('a misconfigured container'), () => {
  test.concurrent.for(CASES)('ends with one clear line: %s', async ([, role, settings, says]) => {
    const variables = Object.entries(settings).map(([name, value]) => [`GOSHAWK_${name}`, value]);
    const { code, output } = await runToEnd([image, role], Object.fromEntries(variables));
    expect(code).toBe(2);
    // The error is the last output; log lines may precede it.
    const lines = output
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{'));
    expect(lines).toStrictEqual([expect.stringMatching(says)]);
    expect(lines[0]).toMatch(/^goshawk: /);
  });

  test('reports a missing init process for orphans of tasks', async () => {
    const nowhere = { GOSHAWK_CENTRAL_URL: '7070' };
    expect((await runToEnd([image, 'worker'], nowhere)).output).toContain('this is process 1');
    expect((await runToEnd(['--init', image, 'worker'], nowhere)).output).not.toContain('this is process 1');
  });
});
