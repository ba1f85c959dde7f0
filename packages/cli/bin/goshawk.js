#!/usr/bin/env node
// This file is separate from the compiled code so that npm can link it before the first build.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const bundle = join(__dirname, '../bundle');

// Caches compiled code for the next call, which saves a third of the time of a short command.
// The cache is in a folder of the user, because others could write to one in /tmp.
const { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
const isCaching =
  caches && NODE_COMPILE_CACHE === undefined && require('./code-cache.js').isOwn(caches, 'goshawk');

// `npm run build` creates the bundle, the same program in fewer files; npm packages contain the separate modules.
if (existsSync(join(bundle, 'main.cjs'))) {
  if (isCaching) require('./code-cache.js').cacheCode(bundle, join(caches, 'goshawk'));
  require('../bundle/main.cjs');
} else if (existsSync(`${__dirname}/../dist/main.js`)) {
  // Node.js 22.1 and later.
  if (isCaching) require('node:module').enableCompileCache?.(join(caches, 'goshawk'));
  void import('../dist/main.js');
} else {
  process.stderr.write('goshawk: not built yet; run `npm run build` in the checkout first\n');
  process.exitCode = 2;
}
