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
    hint: 'its operator allows hosts with --notify-hosts; allowed are *.example.org',
  });
  expect(notifyRefusal(job('http://a/'), undefined)).toMatchObject({ code: 'notify-host' });
  expect(notifyRefusal(job(), undefined)).toBeUndefined();
});

test.each([
  'ftp://host/',
  'https://user:pass@host/',
  'host/path',
  'http://',
  'http://a b/',
  'http://host\\@evil/',
])('%s is no address to notify', (url) => {
  expect(() => job(url)).toThrow(/notify: not an address/);
});
