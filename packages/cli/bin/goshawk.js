#!/usr/bin/env node
// Kept apart from the compiled code so that npm can link it before the first build.
const { existsSync } = require('node:fs');

// `npm run build` makes the bundle, the same program in fewer files; npm packages have it as it was compiled.
if (existsSync(`${__dirname}/../bundle/main.cjs`)) {
  require('../bundle/main.cjs');
} else if (existsSync(`${__dirname}/../dist/main.js`)) {
  void import('../dist/main.js');
} else {
  process.stderr.write('goshawk: not built yet; run `npm run build` in the checkout first\n');
  process.exitCode = 2;
}
