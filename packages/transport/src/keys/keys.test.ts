import {
  chmodSync,
  chownSync,
  existsSync,
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
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { z85 } from './curve-text.js';
import {
  addClient,
  addMember,
  generateKeys,
  removeKey,
  replaceRoleKey,
  rotate,
  updated,
} from './generate.js';
import { keyFileName, parseKeyFile } from './key-file.js';
import { checkOwner, readIndividuals, readKeyFolder, readKeys, writeKeyFolder } from './key-folder.js';
import { keyRing, permitsName } from './key-ring.js';
import { publicOf } from './raw-keys.js';
import { watchKeys } from './watch.js';
import { boundsProblem } from './worker-bounds.js';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-keys-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('the individual key of a client', () => {
  const submitter = { name: 'ci', rights: ['submit', 'read-own'] } as const;

  test('has a separate file; listening processes know it and its rights', () => {
    const { files, client } = addClient(generateKeys(), submitter);
    writeKeyFolder(folder, files, [client]);
    expect(readKeyFolder(folder)).toStrictEqual(files);
    expect(readIndividuals(folder)).toStrictEqual([client]);
    const path = join(folder, keyFileName('client', 'ci'));
    const own = readKeys({ path }, 'client')!;
    expect(own).toMatchObject({ name: 'ci', path });
    for (const role of ['central', 'scheduler', 'worker'] as const) {
      const known = readKeys({ path: folder }, role)!.clients.get('ci')!;
      expect(known.rights).toEqual(submitter.rights);
      expect(known.curve).toBe(own.generations[0].curve.publicKey);
    }
    const text = readFileSync(join(folder, 'scheduler.key'), 'utf8');
    expect(text).not.toContain(client.generations[0]!.secret.sign);
    expect(readKeys({ path: folder }, 'client')!.clients.size).toBe(0);
  });

  test('is unchanged while the keys of the cluster are rotated', () => {
    let { files, client } = addClient(generateKeys(), submitter);
    for (let step = 0; step < 3; step++) {
      files = rotate(files).files;
      client = updated(client, files)!;
      writeKeyFolder(folder, files, [client]);
      const own = readKeys({ path: join(folder, 'client.ci.key') }, 'client')!;
      const known = readKeys({ path: folder }, 'central')!;
      expect(own.generations.map(({ peers }) => peers.central.curve)).toEqual(
        known.generations.map(({ peers }) => peers.central.curve),
      );
      expect(known.clients.get('ci')!.curve).toBe(own.generations[0].curve.publicKey);
    }
  });

  test('is invalid once it is revoked or replaced, and so is the shared key', () => {
    const { files, client } = addClient(generateKeys(), submitter);
    expect(removeKey(files, 'nobody')).toBeUndefined();
    expect(removeKey(files, 'ci')!.central.clients).toEqual([]);
    const again = addClient(files, submitter);
    expect(again.files.central.clients).toHaveLength(1);
    expect(again.client.generations[0]!.secret).not.toEqual(client.generations[0]!.secret);
    const replaced = replaceRoleKey(files, 'client');
    writeKeyFolder(folder, replaced);
    expect(readKeyFolder(folder)).toStrictEqual(replaced);
    expect(replaced.central.generations[0]!.public.client).not.toEqual(
      files.central.generations[0]!.public.client,
    );
    expect(replaced.central.generations[0]!.secret).toEqual(files.central.generations[0]!.secret);
  });

  test.each([
    [{ clients: [{ name: 'CI', rights: [], curve: '', sign: '' }] }, /a client has no name/],
    [{ clients: [{ name: 'ci', rights: ['everything'] }] }, /the rights of ci are not among submit/],
    [{ clients: [{ name: 'ci', rights: [], curve: 'x', sign: 'y' }] }, /the keys of ci/],
    [{ clients: 7 }, /its clients are not a list/],
    [{ name: 'CI' }, /its name is not a valid key name/],
  ])('that is invalid is refused in one line: %j', (wrong, line) => {
    const text = JSON.stringify({ ...generateKeys().central, ...wrong });
    expect(() => readKeys({ text }, 'central')).toThrow(line);
  });
});

describe('the key of one worker', () => {
  const made = addMember(generateKeys(), { role: 'worker', name: 'w7' });

  test('is in its own file, without the secret of other workers; all listening processes admit it', () => {
    writeKeyFolder(folder, made.files, [made.member]);
    expect(readKeyFolder(folder)).toStrictEqual(made.files);
    expect(readIndividuals(folder)).toStrictEqual([made.member]);
    const own = readKeys({ path: join(folder, 'worker.w7.key') }, 'worker')!;
    expect(own).toMatchObject({ role: 'worker', name: 'w7' });
    for (const role of ['central', 'scheduler', 'worker'] as const) {
      const { curve, names } = readKeys({ path: folder }, role)!.members.get('w7')!;
      expect({ curve, names }).toEqual({ curve: own.generations[0].curve.publicKey, names: ['w7'] });
    }
    const text = JSON.stringify(made.member);
    for (const role of ROLES) {
      for (const secret of Object.values(made.files[role].generations[0]!.secret))
        expect(text).not.toContain(secret);
    }
    // Clients send nothing to workers.
    expect(readKeys({ path: folder }, 'client')!.members.size).toBe(0);
  });

  test('stays valid while the shared keys are rotated, and ends once it is revoked', () => {
    let { files, member } = made;
    for (let step = 0; step < 3; step++) {
      files = rotate(files).files;
      member = updated(member, files)!;
      const ring = keyRing(member, 'test');
      expect(ring.generations[0].curve).toEqual(keyRing(made.member, 'test').generations[0].curve);
      expect(ring.generations[0].peers.central.curve).toBe(
        keyRing(files.central, 'test').generations[0].peers.central.curve,
      );
    }
    const revoked = removeKey(files, 'w7')!;
    expect(updated(member, revoked)).toBeUndefined();
    expect(keyRing(revoked.central, 'test').members.size).toBe(0);
    // An earlier key with the same name differs from a later one.
    expect(updated(member, addMember(files, { role: 'worker', name: 'w7' }).files)).toBeUndefined();
  });

  test('of a scheduler is known to clients, too, in files from before and after', () => {
    const client = addClient(generateKeys(), { name: 'ci', rights: [] });
    const { files } = addMember(client.files, { role: 'scheduler', name: 's0' });
    for (const file of [files.client, updated(client.client, files)!])
      expect([...keyRing(file, 'test').members.keys()]).toEqual(['s0']);
  });

  test('permits only its names, which no other key may use, not even a shared one', () => {
    const wide = addMember(made.files, { role: 'worker', name: 'pool', names: ['w*'] });
    const ring = keyRing(wide.files.central, 'test');
    const cases: [string | undefined, string, boolean][] = [
      ['w7', 'w7', true],
      ['w7', 'w8', false],
      ['pool', 'w8', true],
      ['pool', 'w7', false],
      ['pool', 'pool', false],
      [undefined, 'w7', false],
      [undefined, 'w8', false],
      [undefined, 'x8', true],
      ['revoked', 'w8', false],
    ];
    for (const [key, name, isPermitted] of cases)
      expect([key, name, permitsName(ring, 'worker', key, name)]).toEqual([key, name, isPermitted]);
    expect(permitsName(ring, 'scheduler', 'w7', 'w7')).toBe(false);
    expect(permitsName(ring, 'scheduler', undefined, 'w7')).toBe(true);
  });

  test.each([
    [{ members: 7 }, /its members are not a list/],
    [{ members: [{ role: 'central', name: 'c' }] }, /the role of c is neither worker nor scheduler/],
    [{ members: [{ role: 'worker', name: 'worker' }] }, /a member has no name/],
    [{ members: [{ role: 'worker', name: 'w7', names: [] }] }, /the names of w7 are not a list/],
    [{ members: [{ ...made.files.central.members![0]!, expires: 'soon' }] }, /an expiry is not a date/],
    [{ members: [{ ...made.files.central.members![0]!, expires: '2030-10-27T02:30:00' }] }, /lacks a zone/],
    [{ name: 'w8' }, /it does not admit its own key w8/],
  ])('that is invalid is reported in one line: %j', (wrong, line) => {
    const text = JSON.stringify({ ...made.member, ...wrong });
    expect(() => readKeys({ text }, 'worker')).toThrow(line);
  });

  test('that has expired is refused, even by running processes', () => {
    const at = Date.parse('2030-01-01T00:00:00.000Z');
    const key = { role: 'worker', name: 'w7', expires: new Date(at).toISOString() } as const;
    const { files, member } = addMember(generateKeys(), key);
    const client = addClient(files, { name: 'ci', rights: [], expires: key.expires });
    expect(() => keyRing(member, 'worker.w7.key', at)).toThrow('worker.w7.key expired on 2030-01-01');
    expect(() => keyRing(client.client, 'client.ci.key', at)).toThrow('expired on');
    vi.useFakeTimers({ now: at - 5_000 });
    try {
      const ring = keyRing(client.files.central, 'test');
      expect([...ring.clients.keys(), ...ring.members.keys()]).toEqual(['ci', 'w7']);
      const left: string[][] = [];
      const end = watchKeys(
        ring,
        ({ clients, members }) => left.push([...clients.keys(), ...members.keys()]),
        () => {},
      );
      vi.advanceTimersByTime(4_000);
      expect(left).toEqual([]);
      vi.advanceTimersByTime(10_000);
      expect(left).toEqual([[]]);
      end();
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('key files', () => {
  test('survive the round trip, and only their owner can read them', () => {
    const keys = generateKeys();
    writeKeyFolder(folder, keys);
    expect(readKeyFolder(folder)).toStrictEqual(keys);
    for (const role of ROLES) {
      expect(statSync(join(folder, `${role}.key`)).mode & 0o777).toBe(0o600);
      expect(readKeys({ path: folder }, role)?.role).toBe(role);
      expect(readKeys({ text: readFileSync(join(folder, `${role}.key`), 'utf8') }, role)?.role).toBe(role);
    }
  });

  test('contain only the secrets of their role', () => {
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
    'that other users can access are refused: mode %o',
    (mode) => {
      writeKeyFolder(folder, generateKeys());
      chmodSync(join(folder, 'worker.key'), mode);
      expect(() => readKeys({ path: folder }, 'worker')).toThrow(
        `(mode ${mode.toString(8).padStart(4, '0')})`,
      );
    },
  );

  test('owned by root, as in a Kubernetes pod, may be readable by the group, but not writable', () => {
    const user = vi.spyOn(process, 'getuid').mockReturnValue(1_000);
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100440, uid: 0 })).not.toThrow();
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100460, uid: 0 })).toThrow(
      /other users can read or write/,
    );
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100440, uid: 1_000 })).toThrow(
      /other users can read or/,
    );
    expect(() => checkOwner('/keys/worker.key', { mode: 0o100600, uid: 1_001 })).toThrow(/another user/);
    user.mockRestore();
  });

  test('are not created in a folder that other users can write to, and follow no existing link', () => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    expect(() => writeKeyFolder(shared, generateKeys())).toThrow(/other users can write to .* \(mode 0777\)/);
    expect(readdirSync(shared)).toEqual([]);
    chmodSync(shared, 0o700);
    writeFileSync(join(folder, 'stolen'), '');
    symlinkSync(join(folder, 'stolen'), join(shared, 'client.key.new'));
    writeKeyFolder(shared, generateKeys());
    expect(readFileSync(join(folder, 'stolen'), 'utf8')).toBe('');
    expect(lstatSync(join(shared, 'client.key')).isFile()).toBe(true);
  });

  test.each([
    ['', 0o755],
    ['', 0o777],
    ['a', 0o777],
    ['a', 0o775],
  ])('are not created below a folder %s that other users can replace', (parent, mode) => {
    const shared = join(folder, 'shared', parent);
    mkdirSync(shared, { recursive: true });
    chmodSync(shared, mode);
    const gid = process.getgid?.() ?? 0;
    if (mode === 0o775 && process.getuid?.() === 0) chownSync(shared, 0, gid + 1);
    const keys = join(shared, 'keys');
    const write = () => writeKeyFolder(keys, generateKeys());
    if (mode === 0o755) expect(write).not.toThrow();
    else expect(write).toThrow(/other users can write to .*shared.*, who could take or replace the keys/);
    expect(existsSync(keys)).toBe(mode === 0o755);
  });

  test('of another role are refused', () => {
    writeKeyFolder(folder, generateKeys());
    expect(() => readKeys({ path: join(folder, 'client.key') }, 'worker')).toThrow(
      'client.key contains the keys of a client, but this is a worker',
    );
  });

  test('of two clusters do not match', () => {
    const [one, other] = [generateKeys(), generateKeys()];
    writeKeyFolder(folder, { ...one, worker: other.worker });
    expect(() => readKeyFolder(folder)).toThrow('do not belong together');
  });

  test('that were modified are refused without repeating their content', () => {
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
      expect(read).toThrow(`${path} is not a key file`);
      expect(read).not.toThrow(generation!.secret.curve);
    }
    writeFileSync(path, 'not JSON', { mode: 0o600 });
    expect(() => readKeys({ path }, 'worker')).toThrow('it is not JSON');
  });

  test('that do not exist are an error, and no source means no keys', () => {
    expect(() => readKeys({ path: join(folder, 'nowhere') }, 'worker')).toThrow('cannot read the key file');
    expect(readKeys({}, 'worker')).toBeUndefined();
  });
});

test('Z85 and public keys equal those of ZeroMQ', () => {
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

test('keys replaced between reading and the first check of their file are reloaded once', () => {
  const files = generateKeys();
  writeKeyFolder(folder, files);
  const ring = readKeys({ path: folder }, 'client')!;
  vi.useFakeTimers();
  try {
    writeKeyFolder(folder, replaceRoleKey(files, 'client'));
    const heard: string[] = [];
    const problems: string[] = [];
    const end = watchKeys(
      ring,
      ({ generations: [{ curve }] }) => heard.push(curve.publicKey),
      (problem) => problems.push(problem),
    );
    vi.advanceTimersByTime(10_000);
    const now = readKeys({ path: folder }, 'client')!;
    expect(heard).toEqual([now.generations[0].curve.publicKey]);
    rmSync(join(folder, 'client.key'));
    vi.advanceTimersByTime(10_000);
    writeFileSync(join(folder, 'client.key'), 'no key', { mode: 0o600 });
    vi.advanceTimersByTime(10_000);
    expect(heard.length).toBe(1);
    expect(problems).toEqual([expect.stringContaining('no such file'), expect.any(String)]);
    end();
  } finally {
    vi.useRealTimers();
  }
});

describe('bounds of workers’ keys', () => {
  const VALUES = ['secure', 'public', 'eu'];
  const value = fc.constantFrom(...VALUES);
  const values = fc.uniqueArray(value, { maxLength: 2 });
  const byName = (each: fc.Arbitrary<unknown>) =>
    fc.option(fc.dictionary(fc.constantFrom('zone', 'rack', '__proto__', 'constructor'), each), {
      nil: undefined,
    });
  const amounts = fc.dictionary(fc.constantFrom('cpu', 'memory', 'gpu', 'toString'), fc.nat(8));
  const bounds = fc.record({
    attributes: byName(values) as fc.Arbitrary<Record<string, string[]> | undefined>,
    capacity: fc.option(amounts, { nil: undefined }),
  });
  const claims = fc.record({
    attributes: fc.array(fc.record({ name: fc.constantFrom('zone', 'rack', 'constructor'), value }), {
      maxLength: 3,
    }),
    capacity: amounts,
    slots: fc.integer({ min: 1, max: 8 }),
  });

  const end = fc.constantFrom('none', 'none', 'revoked', 'expired', 'replaced', 'rotated');

  test('permit the values that a key lists, and of other attributes those that no key has ever listed', () => {
    const keys = fc.array(fc.tuple(bounds, end), { maxLength: 3 });
    const reader = addMember(generateKeys(), { role: 'worker', name: 'reader' });
    fc.assert(
      fc.property(keys, fc.nat(3), claims, fc.boolean(), (all, at, said, isAtCentral) => {
        let { files } = reader;
        all.forEach(([own, how], index) => {
          const key = { role: 'worker' as const, name: `w${index}` };
          const expires = how === 'expired' ? { expires: '2020-01-01' } : {};
          files = addMember(files, { ...key, ...own, ...expires }).files;
          if (how === 'revoked') files = removeKey(files, key.name)!;
          if (how === 'replaced') files = addMember(files, key).files;
          if (how === 'rotated') files = rotate(files).files;
        });
        const file = isAtCentral ? files.central : updated(reader.member, files)!;
        const ring = keyRing(parseKeyFile(JSON.stringify(file), 'test'), 'test');
        const [given, how] = all[at] ?? [];
        const own = how === 'none' || how === 'rotated' ? given : undefined;
        const has = (of: Record<string, string[]> | undefined, name: string, each: string) =>
          of !== undefined && Object.hasOwn(of, name) && of[name]!.includes(each);
        const isPermitted = said.attributes.every(
          ({ name, value: each }) =>
            has(own?.attributes, name, each) ||
            (!Object.hasOwn(own?.attributes ?? {}, name) &&
              !all.some(([{ attributes }]) => has(attributes, name, each))),
        );
        const stated = { cpu: said.slots, ...said.capacity };
        const most = own?.capacity;
        const isSmall =
          most === undefined ||
          (Object.entries(stated).every(
            ([name, amount]) => amount <= (Object.hasOwn(most, name) ? most[name]! : 0),
          ) &&
            said.slots <= Math.max(1, most.cpu ?? 0));
        const key = own === undefined ? undefined : `w${at}`;
        expect(boundsProblem(ring, key, said) === undefined).toBe(isPermitted && isSmall);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    [{ attributes: ['zone'] }],
    [{ attributes: { zone: 'secure' } }],
    [{ attributes: { zone: [1] } }],
    [{ capacity: { cpu: '16' } }],
    [{ capacity: { cpu: -1 } }],
    [{ capacity: [16] }],
  ])('of a key file are checked: %o', (given) => {
    const { files } = addMember(generateKeys(), { role: 'worker', name: 'w7' });
    const text = JSON.stringify(files.central).replace(
      '"name":"w7"',
      `"name":"w7",${JSON.stringify(given).slice(1, -1)}`,
    );
    expect(() => parseKeyFile(text, 'central.key')).toThrow(/w7/);
  });
});
