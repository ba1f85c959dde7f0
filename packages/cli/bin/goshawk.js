#!/usr/bin/env node
// Kept apart from the compiled code so that npm can link it before the first build.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('goshawk: not built yet; run `npm run build` in the checkout first\n');
  process.exitCode = 2;
}
