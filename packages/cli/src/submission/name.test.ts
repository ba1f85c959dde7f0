import { expect, it } from 'vitest';
import { nameOf } from './name.js';
import type { Work } from './work.js';

it.each<[Work, string]>([
  [{ kind: 'command', argv: ['/opt/bin/simulate', '--seed', '{}'] }, 'simulate --seed {}'],
  [
    { kind: 'command', argv: ['sh', '-c', 'for i in 1 2 3; do\n  echo $i; sleep 100\ndone'] },
    'sh -c for i in 1 2 3; do echo $i; sleep…',
  ],
  [{ kind: 'module', text: './lib/work.js#run' }, 'work.js#run'],
  [{ kind: 'module', text: './lib/work.js' }, 'work.js'],
  [{ kind: 'sleep', ms: 50 }, 'sleep 50 ms'],
  [{ kind: 'file', path: 'jobs/words.json' }, 'words'],
  [{ kind: 'file', path: '-' }, 'job'],
  [{ kind: 'file', path: '\u200b.json' }, 'job'],
  [{ kind: 'command', argv: ['printf', '\u001b[1mx\u0000'] }, 'printf [1mx'],
  [{ kind: 'command', argv: ['echo', `${'a'.repeat(33)}🦅🦅`] }, `echo ${'a'.repeat(33)}…`],
])('a job is named after its work: %j is %j', (work, name) => {
  expect(nameOf(work)).toBe(name);
  expect(name.length).toBeLessThanOrEqual(40);
});
