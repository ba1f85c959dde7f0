import { describe, expect, test } from 'vitest';
import { Incarnations } from './incarnations.js';

const AT = 'tcp://a:1';

describe('incarnations', () => {
  test('the first known incarnation is current, and stays current', () => {
    const incarnations = new Incarnations(1_000);
    expect(incarnations.observe(AT, 'x', 0)).toBe('current');
    expect(incarnations.observe(AT, 'x', 1)).toBe('current');
    expect(incarnations.retiredAt(AT).size).toBe(0);
  });

  test('a later incarnation is its successor, and the first is retired', () => {
    const incarnations = new Incarnations(1_000);
    incarnations.observe(AT, 'x', 0);
    expect(incarnations.observe(AT, 'y', 10)).toBe('successor');
    expect(incarnations.observe(AT, 'x', 11)).toBe('retired');
    expect(incarnations.observe(AT, 'y', 12)).toBe('current');
    expect([...incarnations.retiredAt(AT).keys()]).toStrictEqual(['x']);
  });

  test('an incarnation that was retired by mistake and keeps sending is current again', () => {
    const incarnations = new Incarnations(1_000);
    incarnations.observe(AT, 'living', 0);
    incarnations.observe(AT, 'late message of a dead process', 10);
    expect(incarnations.observe(AT, 'living', 1_009)).toBe('retired');
    expect(incarnations.observe(AT, 'living', 1_010)).toBe('successor');
    expect([...incarnations.retiredAt(AT).keys()]).toStrictEqual(['late message of a dead process']);
  });

  test('if two keep sending, the successor stays current, and both are reported', () => {
    const incarnations = new Incarnations(30_000);
    incarnations.observe(AT, 'first', 0);
    for (let at = 1_000; at < 100_000; at += 1_000) {
      expect(incarnations.observe(AT, 'second', at)).toBe(at === 1_000 ? 'successor' : 'current');
      expect(incarnations.observe(AT, 'first', at)).toBe('retired');
      const named = [{ place: AT, current: 'second', other: 'first' }];
      expect(incarnations.disputes(at)).toMatchObject(at >= 6_000 ? named : []);
    }
    expect(incarnations.disputes(129_001)).toEqual([]);
    expect(incarnations.observe(AT, 'first', 129_001)).toBe('successor');
  });

  test('endpoints are independent, and unknown ones have no history', () => {
    const incarnations = new Incarnations(1_000);
    incarnations.observe(AT, 'x', 0);
    expect(incarnations.observe('tcp://b:1', 'y', 0)).toBe('current');
    expect(incarnations.retiredAt('tcp://c:1').size).toBe(0);
  });

  test('a process that restarts forever does not exhaust memory', () => {
    const incarnations = new Incarnations(1_000);
    for (let i = 0; i < 1_000; i++) incarnations.observe(AT, `i${i}`, i);
    expect(incarnations.retiredAt(AT).size).toBeLessThanOrEqual(8);
  });
});
