import { describe, expect, it } from 'vitest';
import { otherPeople } from './other-people.js';

const PASSWD = [
  'root:x:0:0:root:/root:/bin/bash',
  'daemon:x:1:1::/usr/sbin:/usr/sbin/nologin',
  'ann:x:1000:1000:Ann:/home/ann:/bin/bash',
  'bob:x:1001:1001::/home/bob:/bin/sh',
  'build:x:1002:1002::/srv/build:/usr/sbin/nologin',
  'nobody:x:65534:65534::/nonexistent:/bin/sh',
  '',
].join('\n');

function people(uid: number, files: Record<string, string> = { '/etc/passwd': PASSWD }): string[] {
  return otherPeople(uid, (file) => {
    const text = files[file];
    if (text === undefined) throw new Error('missing');
    return text;
  });
}

describe('other people on this machine', () => {
  it('have accounts that they can log in to, except the current one', () => {
    expect(people(1000)).toEqual(['bob']);
    expect(people(0)).toEqual(['ann', 'bob']);
  });

  it('may have accounts in a directory service', () => {
    const nsswitch = { '/etc/nsswitch.conf': 'passwd: files sss\ngroup: files\n' };
    expect(people(1000, nsswitch)).toEqual(['accounts of a directory service']);
    expect(people(1000, { '/etc/nsswitch.conf': 'passwd: files systemd\n' })).toEqual([]);
  });

  it('are unknown without a list of accounts', () => {
    expect(people(0, {})).toEqual([]);
  });
});
