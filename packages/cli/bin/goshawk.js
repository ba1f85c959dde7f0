#!/usr/bin/env node
// Kept apart from the compiled code so that npm can link it before the first build.
import { existsSync } from 'node:fs';

// `npm run build` makes the bundle, the same program in fewer files; npm packages have it as it was compiled.
const program = ['../bundle/main.js', '../dist/main.js']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));
if (program === undefined) {
  process.stderr.write('goshawk: not built yet; run `npm run build` in the checkout first\n');
  process.exitCode = 2;
} else {
  await import(program.href);
}
