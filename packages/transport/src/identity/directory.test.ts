import { type Address, NOBODY } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidPartyNameError } from '../errors.js';
import { Directory, type KnownProcess } from './directory.js';

const party = (host: number, index: number) => `tcp://host${host}:7000!inc/${index}`;

describe('a directory', () => {
  test('maps a name to one address and back', () => {
    const directory = new Directory();
    const address = directory.intern(party(1, 2));
    expect(directory.intern(party(1, 2))).toBe(address);
    expect(directory.nameOf(address)).toBe(party(1, 2));
    expect(directory.intern(party(1, 3))).not.toBe(address);
    expect(directory.size).toBe(2);
  });

  test('looks up names without assigning addresses', () => {
    const directory = new Directory();
    expect(directory.find(party(1, 0))).toBeUndefined();
    const address = directory.intern(party(1, 0));
    expect(directory.find(party(1, 0))).toBe(address);
    expect(directory.find(party(1, 1))).toBeUndefined();
  });

  test('refuses invalid names', () => {
    expect(() => new Directory().intern('somebody')).toThrow(InvalidPartyNameError);
    expect(new Directory().process('somebody')).toBeUndefined();
  });

  test('a forgotten address has no name, and is not reused', () => {
    const directory = new Directory();
    const address = directory.intern(party(1, 0));
    directory.forget(address);
    directory.forget(address);
    expect(directory.nameOf(address)).toBeUndefined();
    expect(directory.size).toBe(0);
    expect(directory.intern(party(1, 0))).not.toBe(address);
  });

  test('when full, forgets the processes with the oldest traffic', () => {
    const directory = new Directory(16);
    const addresses = Array.from({ length: 16 }, (_, host) => directory.intern(party(host, 0)));
    directory.process('tcp://host0:7000!inc');
    directory.partyAt(addresses[1] as Address);
    const late = directory.intern(party(99, 0));
    expect(directory.nameOf(late)).toBe(party(99, 0));
    expect(directory.nameOf(addresses[0] as Address)).toBe(party(0, 0));
    expect(directory.nameOf(addresses[1] as Address)).toBe(party(1, 0));
    expect(directory.nameOf(addresses[2] as Address)).toBeUndefined();
    expect(directory.size).toBe(addresses.length);
  });

  test('when full, forgets clients first, and never itself', () => {
    const directory = new Directory(16);
    const self = directory.intern(party(0, 0));
    directory.keep('tcp://host0:7000!inc');
    const workers = Array.from({ length: 7 }, (_, host) => directory.intern(party(host + 1, 0)));
    for (let client = 0; client < 1_000; client++) directory.intern(`client:c${client}!inc/0`);
    expect(workers.map((worker) => directory.nameOf(worker))).toEqual(workers.map((_, i) => party(i + 1, 0)));
    for (let host = 100; host < 1_000; host++) directory.intern(party(host, 0));
    expect(directory.nameOf(self)).toBe(party(0, 0));
    expect(directory.size).toBeLessThanOrEqual(16);
  });

  test('when full, does not forget a client whose mail is being read', () => {
    const directory = new Directory(16);
    const client = directory.process('client:c!inc') as KnownProcess;
    const first = directory.internParty(client, 0);
    for (let host = 0; host < 15; host++) directory.intern(party(host, 0));
    const second = directory.internParty(client, 1);
    expect(directory.nameOf(first)).toBe('client:c!inc/0');
    expect(directory.intern('client:c!inc/1')).toBe(second);
  });

  test('one process alone cannot fill it beyond its bound', () => {
    const directory = new Directory(100);
    const process = directory.process('client:c!inc') as KnownProcess;
    for (let index = 0; index < 5_000; index++) directory.internParty(process, index);
    expect(directory.size).toBeLessThanOrEqual(100);
    expect(directory.find('client:c!inc/4999')).toBeDefined();
  });

  test('needs room for two', () => {
    expect(() => new Directory(1)).toThrow(RangeError);
  });

  test('known names and addresses map to each other after any calls', () => {
    const call = fc.record({
      host: fc.nat(12),
      index: fc.nat(3),
      kind: fc.constantFrom('intern', 'intern', 'forget'),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const directory = new Directory(20);
        for (const { host, index, kind } of calls) {
          const name = party(host, index);
          if (kind === 'intern') {
            expect(directory.nameOf(directory.intern(name))).toBe(name);
          } else {
            directory.forget(directory.find(name) ?? NOBODY);
            expect(directory.find(name)).toBeUndefined();
          }
          expect(directory.size).toBeLessThanOrEqual(20);
        }
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});
