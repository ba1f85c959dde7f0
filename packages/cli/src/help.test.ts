import { describe, expect, it } from 'vitest';
import { allCommands } from './commands/index.js';
import { helpOn } from './help.js';

describe('help', () => {
  it.each([60, 100])(
    'keeps to %d columns, without breaking words, but for commands to copy',
    async (columns) => {
      for (const { name, examples } of await allCommands()) {
        const page = await helpOn([...name.split(' '), '--help'], columns);
        const copied = new Set(examples.map(([command]) => `  ${command}`));
        for (const line of page.split('\n').slice(1)) {
          const words = line.trim().split(' ');
          if (copied.has(line) || words.length === 1) continue;
          expect(line.length, `${name}: ${line}`).toBeLessThanOrEqual(columns);
        }
      }
    },
  );

  it('shows each example on a line of its own', async () => {
    const page = await helpOn(['submit', '--help'], 60);
    expect(page).toContain("\n  goshawk submit --tasks 10 -- sh -c 'echo $GOSHAWK_TASK'\n");
  });

  it('says what an option takes, its default, and its choices', async () => {
    const page = await helpOn(['up', '--help'], 100);
    expect(page).toMatch(/^ {2}--workers N +workers \[100\]$/m);
    expect(page).toMatch(/--keep TIME +forget jobs/);
    expect(page).not.toContain('[string]');
  });

  it('shows what most people set of a policy, and where the rest is', async () => {
    const page = await helpOn(['up', '--help'], 100);
    expect(page).toMatch(/--policy TEXT[\s\S]*--estimator TEXT[\s\S]*--cutoff TEXT/);
    expect(page).not.toContain('--steal-cap N');
    expect(page).toContain('goshawk policies NAME');
    expect(page.match(/^ {2}(-\w, )?--/gm)!.length).toBeLessThanOrEqual(25);
  });

  it('lists all commands, and refuses one that there is not', async () => {
    const page = await helpOn([], 100);
    for (const { name } of await allCommands()) expect(page).toContain(name.split(' ').at(-1));
    await expect(helpOn(['submti', '--help'], 100)).rejects.toThrow('did you mean submit?');
  });
});
