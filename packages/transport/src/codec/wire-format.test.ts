import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { wireFormat } from './wire-format.js';

const golden = new URL('./wire-format.golden.txt', import.meta.url);

const HEADER = `# Codes and fields of every message, in their order on the wire. Processes of other releases rely on them: after a
# release, messages may be added at the end, and optional fields at the end of a message; any other change needs a
# new PROTOCOL_VERSION. After an intended change, run this test with UPDATE_GOLDEN=1.
`;

test('the wire format has not changed', () => {
  const current = HEADER + wireFormat();
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(golden, current);
  expect(current).toBe(readFileSync(golden, 'utf8'));
});
