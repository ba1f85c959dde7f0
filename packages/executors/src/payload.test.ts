import { describe, expect, it } from 'vitest';
import { checkExec, modulePath } from './payload.js';

describe('a command', () => {
  it.each([
    [{ exec: [] }, 'exec must be a list with at least a command'],
    [{ exec: [''] }, 'exec must be a list with at least a command'],
    [{ exec: ['true'], cwd: 'here' }, 'cwd must be an absolute path, not "here"'],
  ])('as %j is refused', (payload, message) => {
    expect(() => checkExec(payload)).toThrow(message);
  });

  it('with valid fields is accepted', () => {
    const payload = { exec: ['a', '', 'ü'], env: { A: '' }, cwd: '/', stdin: new Uint8Array(3) };
    expect(() => checkExec(payload)).not.toThrow();
  });
});

describe('the file of a module', () => {
  it('is an absolute path, a URL, or relative to the given folder', () => {
    expect(modulePath({ module: '/a/b.js' })).toBe('/a/b.js');
    expect(modulePath({ module: 'file:///a/b%20c.js' })).toBe('/a/b c.js');
    expect(modulePath({ module: './b.js', cwd: '/a' })).toBe('/a/b.js');
  });

  it.each([
    [{ module: './b.js' }, 'has no base folder'],
    [{ module: './b.js', cwd: 'a' }, 'has no base folder'],
    [{ module: 'file://elsewhere/b.js' }, 'not a URL of a local file'],
  ])('cannot be %j', (payload, message) => {
    expect(() => modulePath(payload)).toThrow(message);
  });
});
