import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { messageReference } from './message-reference.js';

const PATH = join(import.meta.dirname, '../../docs/PROTOCOL.md');

test('docs/PROTOCOL.md matches the table (UPDATE_GOLDEN=1 writes it)', () => {
  const reference = messageReference();
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PATH, reference);
  else expect(readFileSync(PATH, 'utf8')).toBe(reference);
});
