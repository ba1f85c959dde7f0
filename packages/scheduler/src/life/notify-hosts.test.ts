import { parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { notifyRefusal } from './notify-hosts.js';

const job = (notify?: string) => parseJobSpec({ tasks: [{ sleep: 1 }], ...(notify && { notify }) });

test.each(['https://Hooks.Example.org/x?y=1', 'http://hooks.example.org:8080', 'http://[::1]:80/'])(
  '%s is allowed by a glob of its host',
  (url) => {
    expect(notifyRefusal(job(url), ['*.example.org', '[::1]'])).toBeUndefined();
  },
);

test('a host that no glob matches is refused with the list of allowed ones', () => {
  expect(notifyRefusal(job('http://169.254.169.254/latest'), ['*.example.org'])).toEqual({
    code: 'notify-host',
    message: 'the scheduler sends no notifications to 169.254.169.254',
    hint: 'its operator allows hosts, mail: and command: with --notify-hosts; allowed are *.example.org',
  });
  expect(notifyRefusal(job('http://a/'), undefined)).toMatchObject({ code: 'notify-host' });
  expect(notifyRefusal(job(), undefined)).toBeUndefined();
});

test.each([
  ['mail:ann@example.org', ['mail:*@example.org'], true],
  ['mail:ann@example.org', ['mail:*@corp.example', '*'], false],
  ['command:notify-send done', ['command:*'], true],
  ['command:rm -r /', ['command:notify-send *', '*'], false],
  ['https://mail:80/', ['mail:*', 'command:*'], false],
])('%s with --notify-hosts %j: %j', (target, allowed, isAllowed) => {
  expect(notifyRefusal(job(target), allowed)?.code).toBe(isAllowed ? undefined : 'notify-host');
});

test.each([
  'mail:',
  'mail:ann',
  'mail:-f@example.org',
  'mail:a@b, c@d',
  'mail:a@b\nBcc: c@d',
  'command:',
  'command: ',
  'command:a\nb',
  'ftp://host/',
  'https://user:pass@host/',
  'host/path',
  'http://',
  'http://a b/',
  'http://host\\@evil/',
])('%s is no address to notify', (url) => {
  expect(() => job(url)).toThrow(/notify: not an address/);
});
