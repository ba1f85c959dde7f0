import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completionScript, completionsOf, SHELLS } from '@goshawk/command/program';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runHere } from '../terminal.fixture.js';
import { isPlainWord } from './completion.js';
import { GOSHAWK } from './index.js';

// Yargs prints descriptions for other shells.
beforeEach(() => void vi.stubEnv('SHELL', 'bash'));
afterEach(() => void vi.unstubAllEnvs());

/** Returns what begins with the last of the words, as the shell selects it. */
async function offered(...words: string[]): Promise<readonly string[]> {
  const { offered: all } = await completionsOf(GOSHAWK, ['goshawk', ...words]);
  return all.filter((each) => each.startsWith(words.at(-1)!));
}

describe('completion', () => {
  test('offers commands first, including those of two words', async () => {
    expect(await offered('su')).toEqual(['submit']);
    expect(await offered('trace', 's')).toEqual(['stats', 'sample']);
    expect(await offered('jour')).toEqual(['journal']);
  });

  test('offers the options of the given command', async () => {
    expect(await offered('submit', '--sl')).toEqual(['--sleep']);
    expect(await offered('trace', 'stats', '--wor')).toEqual(['--workers']);
    expect(await offered('workers', '--js')).toEqual(['--json']);
  });

  test('skips options before the command, and their values', async () => {
    expect(await offered('--json', 'submit', '--sl')).toEqual(['--sleep']);
    expect(await offered('-q', 'trace', 's')).toEqual(['stats', 'sample']);
    expect(await offered('--config', 'jobs', 'submit', '--sl')).toEqual(['--sleep']);
    expect(await offered('--progress', '=', 'bar', 'trace', 'stats', '--wor')).toEqual(['--workers']);
    expect(await offered('trace', '--json', 'stats', '--wor')).toEqual(['--workers']);
    expect(await offered('--json', 'jobs', '--')).toContain('--limit');
    expect(await offered('--json', 'su')).toEqual(['submit']);
    expect(await offered('--js')).toEqual(['--json']);
    expect(await offered('--progress', 'b')).toEqual(['bar']);
    expect(await offered('submit', '--name', 'trace', '--sl')).toEqual(['--sleep']);
  });

  test('offers known values of an option, and files for other options', async () => {
    expect(await offered('replay', 'x', '--policy', 'goshawk-')).toEqual(['goshawk-peer']);
    expect(await offered('simulate', 'x', '--policy', '=', 'omni')).toEqual(['omniscient']);
    expect(await offered('jobs', '--progress', 'b')).toEqual(['bar']);
    expect(await offered('submit', '--stdin', '')).toEqual([]);
  });

  test('offers no name that a shell would not take as it is', () => {
    const names = [
      'w0',
      'gpu-3.example.org',
      'büro',
      '$(id)',
      '`id`',
      'a;id',
      'a b',
      'a$IFS',
      '-rf',
      '~',
      'a|b',
      "a'b",
    ];
    const taken = names.filter((name) => {
      const { stdout } = spawnSync('sh', ['-c', `echo ${name} 2>&1`], { encoding: 'utf8' });
      return stdout === `${name}\n` && !name.includes(' ') && !name.startsWith('-');
    });
    expect(names.filter(isPlainWord)).toEqual(taken);
  });

  test('offers ids, workers, figures and workloads that `goshawk completion` lists', async () => {
    const kindOf = async (...words: string[]) => (await completionsOf(GOSHAWK, words)).kind;
    expect(await kindOf('job', '4ck')).toBe('ids');
    expect(await kindOf('wait', '4ckks-1', '')).toBe('ids');
    expect(await kindOf('drain', 'w')).toBe('workers');
    expect(await kindOf('job', '--wa')).toBeUndefined();
    expect(await offered('job', '--wa')).toEqual(['--watch']);
    const asked = (...words: string[]) => runHere(['--get-yargs-completions', 'goshawk', ...words]);
    expect((await asked('trace', 'stats', 'goo')).stdout.split('\n')).toContain('google-like');
    expect((await asked('figure', '')).stdout.split('\n')).toContain('hawk-5');
    // Without a cluster there are no ids, and no error disturbs the prompt. Bash splits addresses.
    for (const address of [['tcp://127.0.0.1:9'], ['tcp', ':', '//127.0.0.1', ':', '9']])
      expect(await asked('job', '--cluster', ...address, '4')).toMatchObject({ stdout: '', stderr: '' });
  });

  test('has descriptions for shells that show them', async () => {
    vi.stubEnv('SHELL', 'fish');
    const { offered: all } = await completionsOf(GOSHAWK, ['submit', '--']);
    expect(all).toContain('--name\tname of the job (default: from the command)');
    expect((await completionsOf(GOSHAWK, [''])).offered).toContain(
      'shares\tshow actual and fair shares of the cluster by job or user',
    );
  });

  test.each(SHELLS)('has a script for %s, which names its shell to the command', (shell) => {
    const script = completionScript(shell);
    expect(script).toContain(`env SHELL=${shell} goshawk --get-yargs-completions`);
    expect(process.env.SHELL).toBe('bash');
  });

  test('works in bash', () => {
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-completion-'));
    try {
      writeFileSync(join(folder, 'goshawk'), '#!/bin/sh\nprintf "%s\\n" "$@" submit shares\n');
      chmodSync(join(folder, 'goshawk'), 0o755);
      const typed = 'COMP_WORDS=(goshawk -q s); COMP_CWORD=2; _goshawk_yargs_completions';
      const line = `${completionScript('bash')}\n${typed}; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', line], {
        encoding: 'utf8',
        env: { PATH: `${folder}:${process.env.PATH}` },
      });
      // The last word is one of the arguments.
      expect({ stdout, stderr }).toEqual({ stdout: 's\nsubmit\nshares\n', stderr: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
