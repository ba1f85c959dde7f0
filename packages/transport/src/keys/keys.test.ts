import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROLES } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { z85 } from './curve-text.js';
import { generateKeys } from './generate.js';
import { checkOwner, readKeyFolder, readKeys, writeKeyFolder } from './key-folder.js';
import { publicOf } from './raw-keys.js';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-keys-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('key files', () => {
  test('come back as they were written, for the owner’s eyes only', () => {
    const keys = generateKeys();
    writeKeyFolder(folder, keys);
    expect(readKeyFolder(folder)).toStrictEqual(keys);
    for (const role of ROLES) {
      expect(statSync(join(folder, `${role}.key`)).mode & 0o777).toBe(0o600);
      expect(readKeys({ path: folder }, role)?.role).toBe(role);
      expect(readKeys({ text: readFileSync(join(folder, `${role}.key`), 'utf8') }, role)?.role).toBe(role);
    }
  });

  test('hold the secrets of their own role only', () => {
    const keys = generateKeys();
    const secrets = (role: keyof typeof keys) => Object.values(keys[role].generations[0]!.secret);
    for (const role of ROLES) {
      const text = JSON.stringify(keys[role]);
      for (const other of ROLES) {
        for (const secret of secrets(other)) expect(text.includes(secret)).toBe(role === other);
      }
    }
  });

  test.each([0o644, 0o660, 0o602, 0o601, 0o610, 0o640, 0o440])(
    'that others may use are refused: mode %o',
    (mode) => {
      writeKeyFolder(folder, generateKeys());
      chmodSync(join(folder, 'worker.key'), mode);
      expect(() => readKeys({ path: folder }, 'worker')).toThrow(
        `(mode ${mode.toString(8).padStart(4, '0')})`,
      );
    },
  );

  test('of root, as Kubernetes hands them to a pod, may be read by the group, and not written', () => {
    const user = vi.spyOn(process, 'getuid').mockReturnValue(1_000);
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100440, uid: 0 })).not.toThrow();
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100460, uid: 0 })).toThrow(
      /others may read or write/,
    );
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100440, uid: 1_000 })).toThrow(
      /others may read or/,
    );
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100600, uid: 1_001 })).toThrow(/another user/);
    user.mockRestore();
  });

  test('are not made in a folder that others may write to, and follow no file that was there before', () => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    expect(() => writeKeyFolder(shared, generateKeys())).toThrow(/others may write to .* \(mode 0777\)/);
    expect(readdirSync(shared)).toEqual([]);
    chmodSync(shared, 0o700);
    writeFileSync(join(folder, 'stolen'), '');
    symlinkSync(join(folder, 'stolen'), join(shared, 'client.key.new'));
    writeKeyFolder(shared, generateKeys());
    expect(readFileSync(join(folder, 'stolen'), 'utf8')).toBe('');
    expect(lstatSync(join(shared, 'client.key')).isFile()).toBe(true);
  });

  test('of another role are refused', () => {
    writeKeyFolder(folder, generateKeys());
    expect(() => readKeys({ path: join(folder, 'client.key') }, 'worker')).toThrow(
      'client.key holds the keys of a client, and this is a worker',
    );
  });

  test('of two clusters do not go together', () => {
    const [one, other] = [generateKeys(), generateKeys()];
    writeKeyFolder(folder, { ...one, worker: other.worker });
    expect(() => readKeyFolder(folder)).toThrow('do not belong together');
  });

  test('that were tampered with are refused, and what they say is not repeated', () => {
    const keys = generateKeys();
    const [generation] = keys.worker.generations;
    const path = join(folder, 'worker.key');
    const write = (value: unknown) => writeFileSync(path, JSON.stringify(value), { mode: 0o600 });
    const wrong: unknown[] = [
      null,
      [],
      {},
      { ...keys.worker, schema: 'goshawk.keys/2' },
      { ...keys.worker, role: 'root' },
      { ...keys.worker, generations: [] },
      { ...keys.worker, generations: [generation, generation, generation] },
      { ...keys.worker, generations: [{ ...generation, secret: { curve: 'short', sign: 'short' } }] },
      {
        ...keys.worker,
        generations: [{ ...generation, secret: generateKeys().worker.generations[0]!.secret }],
      },
    ];
    for (const value of wrong) {
      write(value);
      const read = () => readKeys({ path }, 'worker');
      expect(read).toThrow(`${path} is no key file`);
      expect(read).not.toThrow(generation!.secret.curve);
    }
    writeFileSync(path, 'not JSON', { mode: 0o600 });
    expect(() => readKeys({ path }, 'worker')).toThrow('it is not JSON');
  });

  test('that are not there are an error, and no source is none', () => {
    expect(() => readKeys({ path: join(folder, 'nowhere') }, 'worker')).toThrow('cannot read the key file');
    expect(readKeys({}, 'worker')).toBeUndefined();
  });
});

test('Z85 and public keys are ZeroMQ’s own', () => {
  for (let i = 0; i < 100; i++) {
    const { publicKey, secretKey } = curveKeyPair();
    const secret = unZ85(secretKey);
    expect(z85(secret)).toBe(secretKey);
    expect(z85(publicOf('x25519', secret))).toBe(publicKey);
  }
});

function unZ85(text: string): Buffer {
  const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
  const bytes = Buffer.alloc((text.length / 5) * 4);
  for (let at = 0; at < text.length; at += 5) {
    const word = [...text.slice(at, at + 5)].reduce((sum, digit) => sum * 85 + digits.indexOf(digit), 0);
    bytes.writeUInt32BE(word, (at / 5) * 4);
  }
  return bytes;
}
