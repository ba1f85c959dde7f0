import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { wireFormat } from './wire-format.js';

const golden = new URL('./wire-format.golden.txt', import.meta.url);

const HEADER = `# Codes and fields of every message, in the order in which they stand on the wire. Processes of other
# versions rely on them: lines may be added at the end, and fields at the end of a message; whatever else
# changes here needs a new PROTOCOL_VERSION. After a change that is meant, run this test with UPDATE_GOLDEN=1.
`;

test('the wire format has not changed', () => {
  const current = HEADER + wireFormat();
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(golden, current);
  expect(current).toBe(readFileSync(golden, 'utf8'));
});
