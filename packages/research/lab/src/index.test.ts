import { LABORATORY_COMMANDS } from '@goshawk/cli';
import { expect, test } from 'vitest';
import { commands } from './index.js';

test('goshawk lists all commands under their names', async () => {
  expect(Object.keys(LABORATORY_COMMANDS)).toEqual(Object.keys(commands));
  for (const [name, load] of Object.entries(commands)) expect(await load()).toHaveProperty('name', name);
});
