import { expect, test } from 'vitest';
import { jsonExcess } from './json-excess.js';

const objectOf = (keys: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: keys }, (_, key) => [`key "${key}" : {[`, key]));

test('JSON with too many keys or levels is named, before it is parsed', () => {
  expect(jsonExcess(JSON.stringify(objectOf(100_000)))).toBeUndefined();
  expect(jsonExcess(JSON.stringify([objectOf(100_001)]))).toBe('an object in it has more than 100,000 keys');
  const rows = JSON.stringify(Array.from({ length: 200_000 }, () => ({ a: 1 })));
  expect(jsonExcess(rows)).toBeUndefined();
  expect(jsonExcess(rows, { keysMax: 100_000 })).toBe('it has more than 100,000 keys');
  const pad = ' '.repeat(300_000);
  expect(jsonExcess(`${'['.repeat(1_000)}${pad}`)).toBeUndefined();
  expect(jsonExcess(`${'['.repeat(1_001)}${pad}`)).toBe('it is nested deeper than 1,000 levels');
  expect(jsonExcess(`${'[]'.repeat(200_000)}]]`)).toBeUndefined();
  expect(jsonExcess(JSON.stringify({ text: '\\"{'.repeat(200_000) }))).toBeUndefined();
  expect(jsonExcess(`"${'x'.repeat(300_000)}`)).toBeUndefined();
});
