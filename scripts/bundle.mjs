#!/usr/bin/env node
// Writes what the build has compiled into a few files, `packages/cli/bundle`: of a command that takes half a second, a
// third is looking for some 480 modules and reading them one by one. `packages/cli/bin/goshawk.js` runs these files
// unless something was compiled since.
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}packages/cli/bundle`;

/**
 * Packages of many small files, with what they need themselves, and those of which there are several versions. All
 * others stay where they are: they are native, find files of theirs by path, or are loaded by few commands.
 */
const BUNDLED = /^(@goshawk\/|(zod|yargs|nanoid)(\/|$))/;

/** @param importer undefined: where it all begins */
function isExternal(name, importer) {
  if (importer === undefined || /^[./]/.test(name)) return false;
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
  plugins: [outside, ownPlace],
});
await build.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
  cleanDir: true,
});
await build.close();
