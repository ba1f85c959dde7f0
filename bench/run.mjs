/**
 * `npm run bench`: what has got slower (`peers/quick.mjs`); `npm run bench -- NAME`: the measurement of that name.
 */
import { existsSync, readFileSync } from 'node:fs';

const [, , name] = process.argv;
const dist = new URL('dist/', import.meta.url);

if (name === undefined || name.startsWith('-')) await import('./peers/quick.mjs');
else if (/^[a-z]+$/.test(name) && existsSync(new URL(`${name}.js`, dist))) {
  process.argv.splice(2, 1);
  await import(new URL(`${name}.js`, dist).href);
} else {
  const scripts = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const names = [...scripts.matchAll(/"bench:([a-z]+)"/g)].map(([, each]) => each);
  console.error(`bench: there is no measurement "${name}"; there are ${names.join(', ')}`);
  process.exitCode = 2;
}
