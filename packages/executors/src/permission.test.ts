import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Payload } from '@goshawk/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Gate } from './permission.js';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-gate-'));
  mkdirSync(join(folder, 'allowed'));
  mkdirSync(join(folder, 'allowed-not'));
  for (const path of ['allowed/work.mjs', 'allowed-not/work.mjs', 'secret.mjs']) {
    writeFileSync(join(folder, path), 'export function run() {}');
  }
  symlinkSync(join(folder, 'secret.mjs'), join(folder, 'allowed', 'link.mjs'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function refusal(gate: Gate, payload: Payload): string | undefined {
  const admission = gate.admit(payload);
  return 'refusal' in admission ? admission.refusal : undefined;
}

describe('a gate', () => {
  it('permits everything by default, except disabled payload types', () => {
    const exec = { exec: ['/bin/true'] };
    const module = { module: '/m.mjs' };
    for (const payload of [exec, module, { sleep: 1 }]) {
      expect(refusal(new Gate({}), payload)).toBeUndefined();
    }
    expect(refusal(new Gate({ exec: false }), exec)).toBe('this worker does not run exec tasks');
    expect(refusal(new Gate({ module: false }), module)).toBe('this worker does not run module tasks');
    expect(refusal(new Gate({ exec: false, module: false }), { sleep: 1 })).toBeUndefined();
  });

  it.each<[Payload, boolean]>([
    [{ exec: ['/bin/echo', 'a', '; rm -rf /'] }, true],
    [{ exec: ['/bin/echo'], cwd: '/tmp', stdin: 'x' }, true],
    [{ exec: ['/bin/sh'] }, false],
    [{ exec: ['echo'] }, false],
    [{ exec: ['/bin/../bin/echo'] }, false],
    [{ exec: ['/bin/echo'], shell: true }, false],
    [{ exec: ['/bin/echo'], env: { LD_PRELOAD: '/tmp/evil.so' } }, false],
    [{ exec: ['/bin/echo'], env: {} }, true],
    [{ exec: ['/bin/echo'], stdout: '.bashrc' }, false],
    [{ exec: ['/bin/echo'], stderr: 'x' }, false],
  ])('with commands listed, %j passes: %s', (payload, passes) => {
    expect(refusal(new Gate({ exec: ['/bin/echo'] }), payload) === undefined).toBe(passes);
  });

  it.each([
    ['allowed/work.mjs', true],
    ['allowed/../allowed/work.mjs', true],
    ['allowed/../secret.mjs', false],
    ['allowed/link.mjs', false],
    ['allowed-not/work.mjs', false],
    ['secret.mjs', false],
    ['allowed/none.mjs', false],
  ])('with a folder of modules listed, %s passes: %s', (path, passes) => {
    const gate = new Gate({ module: [join(folder, 'allowed')] });
    for (const payload of [
      { module: join(folder, path) },
      { module: path, cwd: folder },
      { module: `file://${folder}/${path}` },
      { module: `file://${folder}/${path.replaceAll('..', '%2e%2e')}` },
    ]) {
      expect(refusal(gate, payload) === undefined, JSON.stringify(payload)).toBe(passes);
    }
  });

  it('passes on the checked file, and refuses it if it has been replaced since', () => {
    const allowed = realpathSync(join(folder, 'allowed'));
    const gate = new Gate({ module: [allowed] });
    const link = join(folder, 'to-work.mjs');
    symlinkSync(join(allowed, 'work.mjs'), link);
    const admission = gate.admit({ module: link });
    expect(admission).toEqual({ payload: { module: join(allowed, 'work.mjs') } });
    expect(gate.changedSince(join(allowed, 'work.mjs'))).toBeUndefined();
    renameSync(join(allowed, 'work.mjs'), join(allowed, 'kept.mjs'));
    symlinkSync(join(folder, 'secret.mjs'), join(allowed, 'work.mjs'));
    expect(gate.changedSince(join(allowed, 'work.mjs'))).toMatch(
      /was moved or changed while the task waited/,
    );
    expect(new Gate({}).changedSince('/anything')).toBeUndefined();
  });

  it('accepts only absolute paths', () => {
    expect(() => new Gate({ exec: ['echo'] })).toThrow('"echo" is not an absolute path');
  });
});
