import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { InvalidEndpointError } from '../errors.js';
import { type Interfaces, movedTo, reachableAt } from './advertised-address.js';

function at(address: string, internal = false): NetworkInterfaceInfo {
  const rest = { netmask: '', mac: '', cidr: null, internal };
  return address.includes(':')
    ? { ...rest, address, family: 'IPv6', scopeid: 0 }
    : { ...rest, address, family: 'IPv4' };
}

const MACHINE: Interfaces = {
  lo: [at('127.0.0.1', true), at('::1', true)],
  eth0: [at('172.18.0.4'), at('fe80::42:acff'), at('fd00::4')],
  idle: undefined,
  usb0: [at('169.254.7.7')],
};

test('the wildcard address becomes the only address of the machine, except loopback and link-local ones', () => {
  expect(reachableAt('tcp://0.0.0.0:7070', MACHINE)).toBe('tcp://172.18.0.4:7070');
  expect(reachableAt('tcp://*:0', MACHINE)).toBe('tcp://172.18.0.4:0');
  expect(reachableAt('tcp://[::]:7070', MACHINE)).toBe('tcp://[fd00::4]:7070');
});

test('any other endpoint is unchanged', () => {
  for (const text of ['tcp://central:7070', 'tcp://10.0.0.1:0']) {
    expect(reachableAt(text, MACHINE)).toBe(text);
  }
});

test('on a machine with several addresses, or none, it must be given', () => {
  const several = (): string => reachableAt('tcp://0.0.0.0:7070', { ...MACHINE, eth1: [at('10.0.0.4')] });
  expect(several).toThrow(InvalidEndpointError);
  expect(several).toThrow(
    /has 172\.18\.0\.4 and 10\.0\.0\.4; give the address of this process with --advertise tcp:\/\/HOST:PORT/,
  );
  expect(() => reachableAt('tcp://0.0.0.0:7070', {})).toThrow(/this machine has no address beyond loopback/);
});

test('a machine has moved if another address has replaced the advertised one', () => {
  const moved: Interfaces = { lo: MACHINE.lo, eth1: [at('10.0.0.4'), at('fd00::9')] };
  expect(movedTo('tcp://172.18.0.4:7070', moved)).toBe('10.0.0.4');
  expect(movedTo('tcp://[fd00::4]:7070', moved)).toBe('fd00::9');
});

test('a machine has not moved while it still has the address, or has none', () => {
  expect(movedTo('tcp://172.18.0.4:7070', MACHINE)).toBeUndefined();
  expect(movedTo('tcp://172.18.0.4:7070', { ...MACHINE, eth1: [at('10.0.0.4')] })).toBeUndefined();
  expect(movedTo('tcp://172.18.0.4:7070', { lo: MACHINE.lo })).toBeUndefined();
});
