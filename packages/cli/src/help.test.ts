import { GLOBAL_OPTIONS, kebab } from '@goshawk/command';
import { helpOn } from '@goshawk/command/program';
import { describe, expect, it } from 'vitest';
import { allCommands, GOSHAWK } from './commands/index.js';

const OPTION_LINE = /^ {2}(?:-\w, | {4})?--[\w-]+/gm;

describe('help', () => {
  it.each([60, 100])(
    'keeps to %d columns, without breaking words, but for commands to copy',
    async (columns) => {
      for (const { name, examples } of await allCommands()) {
        const page = await helpOn(GOSHAWK, name.split(' '), columns);
        const copied = new Set(examples.map(([command]) => `  ${command}`));
        for (const line of page.split('\n').slice(1)) {
          const words = line.trim().split(' ');
          if (copied.has(line) || words.length === 1) continue;
          expect(line.length, `${name}: ${line}`).toBeLessThanOrEqual(columns);
        }
      }
    },
  );

  it('shows each example on a separate line', async () => {
    const page = await helpOn(GOSHAWK, ['submit'], 60);
    expect(page).toContain("\n  goshawk submit --tasks 10 -- sh -c 'echo $GOSHAWK_TASK'\n");
  });

  it('shows the value, the default and the choices of an option', async () => {
    const page = await helpOn(GOSHAWK, ['up'], 100);
    expect(page).toMatch(/^ {2}--workers N +number of workers \[100\]$/m);
    expect(page).toMatch(/--keep TIME +delete ended jobs/);
    expect(page).not.toContain('[string]');
  });

  it('shows common settings of a policy, and where to find the others', async () => {
    const page = await helpOn(GOSHAWK, ['up'], 100);
    expect(page).toMatch(/--policy NAME[\s\S]*--estimator NAME[\s\S]*--cutoff TIME/);
    expect(page).not.toContain('--steal-cap N');
    expect(page).toContain('goshawk policies NAME');
  });

  it('shows at most 25 options of any command, and all of them with --all', async () => {
    for (const { name, options } of await allCommands()) {
      const page = await helpOn(GOSHAWK, name.split(' '), 100);
      const listed = new Set(page.match(OPTION_LINE));
      // The last lines name two options of every command.
      expect(listed.size + 2, name).toBeLessThanOrEqual(25);
      const whole = await helpOn(GOSHAWK, name.split(' '), 100, true);
      const all = (whole.match(OPTION_LINE) ?? []).map((line) => line.split('--')[1]);
      for (const option of Object.keys({ ...options, ...GLOBAL_OPTIONS }).filter(
        (each) => each !== 'cluster',
      ))
        expect(all, name).toContain(kebab(option));
      const isPartial = listed.size + Object.keys(GLOBAL_OPTIONS).length < all.length;
      if (isPartial) expect(page, name).toMatch(/`goshawk [\w -]+ --help --all`|`goshawk policies NAME`/);
    }
  });

  it('lists all commands, and rejects an unknown one', async () => {
    const page = await helpOn(GOSHAWK, [], 100);
    for (const { name } of await allCommands()) expect(page).toContain(name.split(' ').at(-1));
    await expect(helpOn(GOSHAWK, ['submti'], 100)).rejects.toThrow('did you mean submit?');
  });
});
