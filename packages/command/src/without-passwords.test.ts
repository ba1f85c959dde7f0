import { expect, it } from 'vitest';
import { withoutPasswords } from './without-passwords.js';

it.each([
  ['postgres://u:hunter@2secret@db/x', 'postgres://u:…@db/x'],
  ['cannot open /a/postgres://u:p/s?s:@db:5/x now', 'cannot open /a/postgres://u:…@db:5/x now'],
  ['postgres://u@db/x?a=1&password=p@ss&b=2', 'postgres://u@db/x?a=1&password=…&b=2'],
  ['https://proxy:8080/x', 'https://proxy:8080/x'],
  ['tcp://127.0.0.1:7070 and ann@home', 'tcp://127.0.0.1:7070 and ann@home'],
])('passwords are hidden: %s', (text, shown) => {
  expect(withoutPasswords(text)).toBe(shown);
});
