import { existsSync } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Folder, readOptions } from './script.js';

const argv = process.argv;
afterEach(() => {
  process.argv = argv;
  vi.restoreAllMocks();
});

function given(...args: string[]): void {
  process.argv = ['node', 'script.js', ...args];
}

describe('options', () => {
  const defaults = { runs: 3, sizes: [1, 2], names: ['a'], policy: 'hawk', keep: undefined, live: true };

  test('have their defaults if not given', () => {
    given();
    expect(readOptions(defaults)).toEqual({ ...defaults, json: false, positionals: [] });
  });

  test('are parsed by the types of their defaults', () => {
    given(
      '--runs',
      '0.5',
      '--sizes',
      '10,100',
      '--names',
      'b,c',
      '--keep',
      'x',
      '--no-live',
      '--json',
      'file',
    );
    expect(readOptions(defaults, true)).toEqual({
      ...{ runs: 0.5, sizes: [10, 100], names: ['b', 'c'], policy: 'hawk', keep: 'x', live: false },
      ...{ json: true, positionals: ['file'] },
    });
  });

  test('are listed by --help', () => {
    given('--help');
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
    readOptions(defaults);
    expect(exit).toHaveBeenCalledWith(0);
    expect(written.mock.calls.join('')).toBe(
      'options:\n  --runs 3\n  --sizes 1,2\n  --names a\n  --policy hawk\n  --keep TEXT\n  --no-live\n  --json\n',
    );
  });

  test.each([
    [['--runs', 'many'], '--runs takes numbers, not "many"\n'],
    [['--sizes', '1,x'], '--sizes takes numbers, not "x"\n'],
    [['file'], /file/],
    [['--unknown'], /--unknown/],
  ])('%j ends the process with 2', (args, message) => {
    given(...args);
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Error(`exit ${code}`);
    });
    expect(() => readOptions(defaults)).toThrow('exit 2');
    expect(written.mock.calls.join('')).toMatch(message);
  });
});

test('a temporary folder is removed at the end of its block; a given one stays', () => {
  using given = new Folder('test');
  let path: string;
  {
    using own = new Folder('test');
    using _kept = new Folder('test', given.path);
    path = own.path;
    expect(existsSync(path)).toBe(true);
  }
  expect(existsSync(path)).toBe(false);
  expect(existsSync(given.path)).toBe(true);
});
