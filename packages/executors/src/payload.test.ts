import { describe, expect, it } from 'vitest';
import type { Payload } from './contract.js';
import { BadPayload, checkExec, checkSleep, modulePath, payloadKind } from './payload.js';

describe('what a payload is for', () => {
  it('is told by its one key', () => {
    expect(payloadKind({ sleep: 1 })).toBe('sleep');
    expect(payloadKind({ exec: ['true'] })).toBe('exec');
    expect(payloadKind({ module: '/a.js' })).toBe('module');
  });

  it.each([
    [{}, 'this one has none'],
    [{ sleep: 1, exec: ['true'] }, 'this one has sleep and exec'],
    [null, 'a payload is an object'],
    ['sleep', 'a payload is an object'],
  ])('is not told for %j', (payload, message) => {
    expect(() => payloadKind(payload as unknown as Payload)).toThrow(message);
  });
});

describe('a sleep', () => {
  it.each([0, 0.5, 2 ** 40])('of %d ms is taken', (sleepMs) => {
    expect(checkSleep(sleepMs)).toBe(sleepMs);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '10', undefined])('of %s is refused', (sleepMs) => {
    expect(() => checkSleep(sleepMs)).toThrow(BadPayload);
  });
});

describe('a command', () => {
  it.each([
    [{ exec: [] }, 'exec is a list with at least a command'],
    [{ exec: [''] }, 'exec is a list with at least a command'],
    [{ exec: 'true' }, 'exec is a list with at least a command'],
    [{ exec: ['true', 1] }, 'exec[1] is a string, not number'],
    [{ exec: ['true', 'a\0b'] }, 'exec[1] contains a NUL byte'],
    [{ exec: ['true'], env: { 'A=B': '' } }, 'env has an impossible name: "A=B"'],
    [{ exec: ['true'], env: { '': '' } }, 'env has an impossible name: ""'],
    [{ exec: ['true'], env: { A: 'a\0b' } }, 'env.A contains a NUL byte'],
    [{ exec: ['true'], env: { A: 1 } }, 'env.A is a string, not number'],
    [{ exec: ['true'], cwd: 'here' }, 'cwd is an absolute path, not "here"'],
    [{ exec: ['true'], stdin: 5 }, 'stdin is a string or bytes'],
    [{ exec: ['true'], stdout: 'a\0b' }, 'stdout contains a NUL byte'],
    [{ exec: ['true'], stderr: 'a/' }, 'stderr is the path of a file, not "a/"'],
  ])('as %j is refused', (payload, message) => {
    expect(() => checkExec(payload as never)).toThrow(message);
  });

  it('with everything in order is taken', () => {
    const payload = { exec: ['a', '', 'ü'], env: { A: '' }, cwd: '/', stdin: new Uint8Array(3) };
    expect(() => checkExec(payload)).not.toThrow();
  });
});

describe("a module's file", () => {
  it('is an absolute path, a URL, or relative to the folder that was given', () => {
    expect(modulePath({ module: '/a/b.js' })).toBe('/a/b.js');
    expect(modulePath({ module: 'file:///a/b%20c.js' })).toBe('/a/b c.js');
    expect(modulePath({ module: './b.js', cwd: '/a' })).toBe('/a/b.js');
  });

  it.each([
    [{ module: './b.js' }, 'relative to nothing'],
    [{ module: './b.js', cwd: 'a' }, 'relative to nothing'],
    [{ module: 'file://elsewhere/b.js' }, 'not the URL of a file here'],
    [{ module: '/a\0b' }, 'contains a NUL byte'],
    [{ module: '/a.js', export: 3 }, 'export is a string'],
  ])('cannot be told from %j', (payload, message) => {
    expect(() => modulePath(payload as never)).toThrow(message);
  });
});
