#!/usr/bin/env node
// Writes what the build has compiled into fewer files, `packages/cli/bundle`, which `packages/cli/bin/goshawk.js` runs:
// a third of what `goshawk jobs` takes, and half of a short simulation, is finding and reading some 400 modules.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}packages/cli/bundle`;

/**
 * Packages of many small files, with what they need themselves, and those of which there are several versions. All
 * others stay where they are: they are native, find files of theirs by path, or are loaded by few commands.
 */
const BUNDLED = /^(@goshawk\/|(zod|yargs|msgpackr|nanoid|zeromq|fast-string-truncated-width)(\/|$))/;

/** @param importer undefined: where it all begins */
function isExternal(name, importer) {
  if (importer === undefined || /^[./]/.test(name)) return false;
  if (name.startsWith('zeromq/')) return true;
  return name.startsWith('node:') || !(BUNDLED.test(name) || importer.includes('/node_modules/'));
}

/** A module finds its threads, its version and packages of its own by its path, so it has to know where it was. */
const ownPlace = {
  name: 'own-place',
  transform(code, id) {
    if (!code.includes('import.meta.url')) return null;
    const place = JSON.stringify(relative(folder, id));
    return { code: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`), map: null };
  },
};

/** The command imports these by variables, since they need not be installed; the bundle contains them. */
const OPTIONAL = {
  'cli/dist/laboratory': { PACKAGE: '@goshawk/lab' },
  'command/dist/policy/papers': { PACKAGE: '@goshawk/papers', SOLVER: '@goshawk/papers/solver' },
};
const optional = {
  name: 'optional',
  transform(code, id) {
    const [, file] = /\/packages\/([\w/]+)\.js$/.exec(id) ?? [];
    if (!Object.hasOwn(OPTIONAL, file ?? '')) return null;
    for (const [variable, name] of Object.entries(OPTIONAL[file])) {
      const literal = code.replace(`import(${variable})`, `import('${name}')`);
      if (literal === code)
        throw new Error(`${id} imports ${name} in another way: change scripts/bundle.mjs`);
      code = literal;
    }
    return { code, map: null };
  },
};

/**
 * Looking for the addon of ZeroMQ that fits takes as long as all else of ZeroMQ: what is found here is tried first, and
 * looked for only where it does not load.
 */
const addon = {
  name: 'addon',
  transform(_code, id) {
    if (!id.endsWith('/zeromq/lib/load-addon.js')) return null;
    const { cache } = createRequire(id);
    createRequire(id)(id);
    const found = Object.keys(cache).find((file) => file.includes('/zeromq/') && file.endsWith('.node'));
    const name = JSON.stringify(`zeromq/${relative(`${dirname(id)}/..`, found)}`);
    return `exports.__esModule = true; try { exports.default = require(${name}); } catch { exports.default = require('zeromq/lib/load-addon.js').default; }`;
  },
};

/** What stays outside is looked for from the bundle, and must not be another version than its importer finds. */
const outside = {
  name: 'outside',
  resolveId(name, importer) {
    if (!isExternal(name, importer)) return null;
    const [scope, rest] = name.split('/');
    const own = scope.startsWith('@') ? `${scope}/${rest}` : scope;
    const [home] = importer.split('/dist/');
    if (existsSync(`${home}/node_modules/${own}`))
      throw new Error(`${home} has a ${own} of its own: add it to BUNDLED in scripts/bundle.mjs`);
    return { id: name, external: true };
  },
};

const build = await rolldown({
  input: { main: `${root}packages/cli/dist/main.js` },
  platform: 'node',
  plugins: [outside, addon, ownPlace, optional],
  // Of yargs the parser alone is used; what lays out its help would take 60 ms to load.
  treeshake: { moduleSideEffects: (id) => !/\/node_modules\/(yargs|y18n|cliui|string-width)\//.test(id) },
});
await build.write({
  dir: folder,
  // `goshawk jobs` takes a sixth less than with modules, which Node links one by one.
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  cleanDir: true,
  comments: false,
});
await build.close();
