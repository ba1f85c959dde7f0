import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { completionScript } from './completion.js';
import { allCommands } from './index.js';

const commands = await allCommands();

/** What bash offers for the last of these words. */
function offered(...words: string[]): string[] {
  const script = completionScript('bash', commands);
  const line = `${script}\nCOMP_WORDS=(goshawk ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _goshawk; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

describe('completion', () => {
  test('offers commands first, also those of two words', () => {
    expect(offered('su')).toEqual(['submit']);
    expect(offered('trace', 's')).toEqual(['stats', 'sample']);
  });

  test('offers the options of the command that stands there', () => {
    expect(offered('submit', '--sl')).toEqual(['--sleep']);
    expect(offered('trace', 'stats', '--wor')).toEqual(['--workers']);
    expect(offered('workers', '--js')).toEqual(['--json']);
  });

  test('fish gets every command and option with what it does', () => {
    const script = completionScript('fish', commands);
    expect(script).toContain("-a submit -d 'submit a job");
    expect(script).toContain("-n '__fish_seen_subcommand_from submit' -l sleep -r -d");
    expect(script).toContain("-l progress -x -a 'auto bar plain none'");
  });
});
