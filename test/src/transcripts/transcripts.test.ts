import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { play } from './play.js';

const FOLDER = import.meta.dirname;
const SUFFIX = '.golden.txt';

/** UPDATE_GOLDEN=1 records the current behavior of the machines; review the diff before committing it. */
const UPDATE = process.env.UPDATE_GOLDEN === '1';

const names = readdirSync(FOLDER).filter((file) => file.endsWith(SUFFIX));

test.each(names)('%s', (file) => {
  const path = join(FOLDER, file);
  const transcript = readFileSync(path, 'utf8');
  const played = play(transcript, file.slice(0, -SUFFIX.length));
  if (UPDATE) writeFileSync(path, played);
  else expect(played).toBe(transcript);
});
