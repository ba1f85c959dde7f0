import { describe, expect, test } from 'vitest';
import { color, declarations, lineLook, PALETTE, type Role, toLiterals } from './palette.js';

/** Returns the contrast ratio of two colors by relative luminance (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const luminance = (color: string) => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
      return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const [darker, lighter] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

describe.each(['light', 'dark'] as const)('on a %s page', (kind) => {
  const color = (role: Role) => PALETTE[role]![kind];
  const series = Object.keys(PALETTE).filter((name) => name.startsWith('series-')) as Role[];

  test.each(series)('the line %s has a contrast of 3 : 1', (role) => {
    expect(contrast(color(role), color('page'))).toBeGreaterThanOrEqual(3);
  });

  test('neighbors, and any of the first four, differ in gray', () => {
    for (const [index, role] of series.entries()) {
      const others = index < 4 ? series.slice(index + 1, 4) : series.slice(index + 1, index + 2);
      for (const other of others) {
        expect([role, other, contrast(color(role), color(other)) >= 1.25]).toEqual([role, other, true]);
      }
    }
    expect(contrast(color(series[3]!), color(series[4]!))).toBeGreaterThanOrEqual(1.25);
  });

  test.each(['text', 'muted', 'warning'] as const)('%s can be read: 4.5 : 1', (role) => {
    expect(contrast(color(role), color('page'))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(color(role), color('raised'))).toBeGreaterThanOrEqual(4.5);
  });

  test.each(['queueing', 'binding', 'running'] as const)('numbers on the bar of %s can be read', (role) => {
    expect(contrast(color('ink'), color(role))).toBeGreaterThanOrEqual(4.5);
  });
});

test('24 policies look different, and neighbours differ in colour, dash and marker', () => {
  const looks = Array.from({ length: 24 }, (_, index) => lineLook(index));
  expect(new Set(looks.map((look) => JSON.stringify(look))).size).toBe(24);
  for (const [index, look] of looks.slice(1).entries()) {
    expect(look.color).not.toBe(looks[index]!.color);
    expect(look.dash).not.toEqual(looks[index]!.dash);
    expect(look.marker).not.toBe(looks[index]!.marker);
  }
});

test('roles are replaced by colours in attributes but not in text', () => {
  const grid = color('grid');
  expect(toLiterals(`<path stroke="${grid}"/><text>${grid}</text>`, 'dark')).toBe(
    `<path stroke="${PALETTE.grid!.dark}"/><text>var(--grid)</text>`,
  );
  expect(declarations('dark')).toContain('--grid:#');
});
