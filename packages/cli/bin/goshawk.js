#!/usr/bin/env node
// Kept apart from the compiled code so that npm can link it before the first build.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

// Compiled code is kept for the next call (Node 22.1 and later), a third of what a short command takes. It goes into a folder of
// the user: one of /tmp could be filled by others.
const { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
if (caches && NODE_COMPILE_CACHE === undefined)
  require('node:module').enableCompileCache?.(join(caches, 'goshawk'));

// `npm run build` makes the bundle, the same program in fewer files; npm packages have it as it was compiled.
if (existsSync(`${__dirname}/../bundle/main.cjs`)) {
  require('../bundle/main.cjs');
} else if (existsSync(`${__dirname}/../dist/main.js`)) {
  void import('../dist/main.js');
} else {
  process.stderr.write('goshawk: not built yet; run `npm run build` in the checkout first\n');
  process.exitCode = 2;
}
