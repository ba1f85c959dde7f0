import { expect, test } from 'vitest';
import { parseExport } from './import-lines.js';
import { accepted } from './records.fixture.js';

test('an export of more than 512 MiB, the longest string, is read', () => {
  const line = Buffer.from(JSON.stringify({ id: 'abcde-1', ...accepted(1) }));
  const bytes = Buffer.alloc(520 * 1024 * 1024 + line.length, ' ');
  for (let at = 0; at < bytes.length; at += 64 * 1024 * 1024) bytes[at] = 10;
  bytes[bytes.length - line.length - 1] = 10;
  line.copy(bytes, bytes.length - line.length);
  expect(parseExport(bytes).records).toHaveLength(1);
});
