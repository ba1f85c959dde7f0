import { expect, it } from 'vitest';
import { painter } from './paint.js';
import { page } from './sections.js';

it('a page aligns lines with their labels', () => {
  const sections = [['line', ['one after another', 'two']]] as const;
  expect(page('title', sections, painter({ color: false, columns: 20 }))).toBe(
    ['title', '  line  one after', '        another', '        two'].join('\n'),
  );
});
