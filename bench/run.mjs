/**
 * `npm run bench` finds slowdowns (`peers/quick.mjs`); `npm run bench -- NAME` runs the measurement of that name.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { BENCHES } from './peers/benches.mjs';

const [, , name] = process.argv;

if (name === undefined || name.startsWith('-')) await import('./peers/quick.mjs');
else if (BENCHES.includes(name)) {
  process.argv.splice(2, 1);
  // `npm run bench -- NAME -- ARGS` is the same as without the second `--`.
  if (process.argv[2] === '--') process.argv.splice(2, 1);
  if (name === 'peers') {
    const folder = fileURLToPath(new URL('peers', import.meta.url));
    execFileSync('npm', ['ci', '--prefix', folder, '--no-fund', '--no-audit'], { stdio: 'inherit' });
    await import('./peers/main.mjs');
  } else await import(new URL(`dist/${name}.js`, import.meta.url).href);
} else {
  console.error(`bench: there is no measurement "${name}"; there are ${BENCHES.join(', ')}`);
  process.exitCode = 2;
}
