import { spawnSync } from 'node:child_process';
import { completionScript } from '@goshawk/command/program';
import { describe, expect, test } from 'vitest';
import { runHere } from '../terminal.fixture.js';
import { allCommands } from './index.js';

const commands = await allCommands();

/** Returns bash's completions of the current word. */
function offered(...words: string[]): string[] {
  return offeredWith('', ...words);
}

/** @param goshawk a shell function that replaces the command */
function offeredWith(goshawk: string, ...words: string[]): string[] {
  const script = completionScript('bash', commands);
  const line = `${goshawk}\n${script}\nCOMP_WORDS=(goshawk ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _goshawk; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

describe('completion', () => {
  test('offers commands first, including those of two words', () => {
    expect(offered('su')).toEqual(['submit']);
    expect(offered('trace', 's')).toEqual(['stats', 'sample']);
  });

  test('offers the options of the given command', () => {
    expect(offered('submit', '--sl')).toEqual(['--sleep']);
    expect(offered('trace', 'stats', '--wor')).toEqual(['--workers']);
    expect(offered('workers', '--js')).toEqual(['--json']);
  });

  test('skips options before the command, and their values', () => {
    expect(offered('--json', 'submit', '--sl')).toEqual(['--sleep']);
    expect(offered('-q', 'trace', 's')).toEqual(['stats', 'sample']);
    expect(offered('--config', 'jobs', 'submit', '--sl')).toEqual(['--sleep']);
    expect(offered('--progress', '=', 'bar', 'trace', 'stats', '--wor')).toEqual(['--workers']);
    expect(offered('trace', '--json', 'stats', '--wor')).toEqual(['--workers']);
    expect(offered('--json', 'jobs', '--')).toContain('--limit');
    expect(offered('--json', 'su')).toEqual(['submit']);
    expect(offered('--js')).toEqual(['--json']);
    expect(offered('--progress', 'b')).toEqual(['bar']);
    expect(offered('submit', '--name', 'trace', '--sl')).toEqual(['--sleep']);
  });

  test('offers known values of an option, and files for other options', () => {
    expect(offered('replay', 'x', '--policy', 'goshawk-')).toEqual(['goshawk-peer']);
    expect(offered('simulate', 'x', '--policy', 'omni')).toEqual(['omniscient']);
    expect(offered('jobs', '--progress', 'b')).toEqual(['bar']);
    expect(offered('submit', '--stdin', '')).toEqual(['']);
  });

  test('offers ids, workers, figures and workloads that the command lists', async () => {
    const known = {
      ids: 'last 4ckks-1 4ckks-2',
      workers: 'w1 w2',
      workloads: 'google-like',
      figures: 'hawk-5',
    };
    const cases = Object.entries(known).map(([kind, names]) => `${kind}) echo '${names}' ;;`);
    const goshawk = `goshawk() { case "$2" in ${cases.join(' ')} esac; }`;
    const with_ = (...words: string[]) => offeredWith(goshawk, ...words);
    expect(with_('job', '4ck')).toEqual(['4ckks-1', '4ckks-2']);
    expect(with_('wait', '4ckks-1', '')).toEqual(['last', '4ckks-1', '4ckks-2']);
    expect(with_('drain', 'w')).toEqual(['w1', 'w2']);
    expect(with_('trace', 'stats', 'goo')).toEqual(['google-like']);
    expect(with_('figure', '')).toEqual(['hawk-5']);
    expect(with_('job', '--wa')).toEqual(['--watch']);
    expect((await runHere(['completion', 'workloads'])).stdout.split('\n')).toContain('google-like');
    expect((await runHere(['completion', 'figures'])).stdout.split('\n')).toContain('hawk-5');
  });

  test('offers every command and option with a description in fish', () => {
    const script = completionScript('fish', commands);
    expect(script).toContain("-a submit -d 'submit a job");
    expect(script).toContain("-n '__fish_seen_subcommand_from submit' -l sleep -r -d");
    // Both groups have an `export` command with different options.
    expect(script).toContain(
      "-n '__fish_seen_subcommand_from journal; and __fish_seen_subcommand_from export' -l tag ",
    );
    expect(script).not.toMatch(/-n '__fish_seen_subcommand_from export'/);
    expect(script).toContain("-l progress -x -a 'auto bar plain none'");
  });
});
