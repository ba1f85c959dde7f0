import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as client from '@goshawk/client';
import { expect, test } from 'vitest';
import { exportedNames, sdkReference } from './sdk-reference.js';

const PATH = join(import.meta.dirname, '../../docs/SDK.md');
const MARK = '<!-- reference: made from packages/client/src (UPDATE_GOLDEN=1) -->\n';

test('docs/SDK.md matches the declarations (UPDATE_GOLDEN=1 writes it)', () => {
  const [head] = readFileSync(PATH, 'utf8').split(MARK);
  const page = `${head}${MARK}\n${sdkReference()}\n`;
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PATH, page);
  else expect(readFileSync(PATH, 'utf8')).toBe(page);
});

test('it contains all exports of the client', () => {
  expect(exportedNames()).toEqual(expect.arrayContaining(Object.keys(client)));
  expect(sdkReference()).toContain(
    '- `submit<Value = unknown>(job: JobSubmission, options: SubmitOptions = {})',
  );
});
