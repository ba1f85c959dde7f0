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

/** The command asks for the laboratory by a variable, since it need not be there; here it is, and comes along. */
const laboratory = {
  name: 'laboratory',
  transform(code, id) {
    if (!id.endsWith('/packages/cli/dist/laboratory.js')) return null;
    return { code: code.replace('import(PACKAGE)', "import('@goshawk/lab')"), map: null };
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

/**
 * Modules that are loaded together are one file: each file is looked for, opened and read in turn, at half a
 * millisecond. What one command alone loads stays in files of its own.
 */
const TOGETHER = [
  { name: 'core', test: /\/packages\/core\/dist\/|\/node_modules\/zod\// },
  {
    name: 'cli',
    test: /\/packages\/cli\/dist\/(?:command|context|failure|interruption|options|resources|version|laboratory|commands\/index|jobs\/words|terminal\/(?!table)\w.*)\.js$/,
  },
  {
    name: 'settings',
    test: /\/packages\/cli\/dist\/(?:settings|policy-options|shadow-names)\.js$/,
  },
  {
    name: 'runs',
    test: /\/packages\/lab\/dist\/(?:replay\/(?:estimates|report-file)|predict\/arriving)\.js$/,
  },
  {
    name: 'simulation',
    test: /\/packages\/lab\/dist\/(?:simulate\/(?!network)|predict\/)/,
    minShareCount: 2,
  },
  { name: 'traces', test: /\/packages\/traces\/dist\/|\/packages\/lab\/dist\/workload\.js$/ },
  { name: 'predictor', test: /\/packages\/predictor\/dist\// },
  { name: 'machines', test: /\/packages\/(?:central|scheduler|simulator|worker)\/dist\// },
];

/**
 * The engine reads a text that is all ASCII, and has no comments but licences, in less time. Lines stay as they are, and
 * names, so that the places in a stack trace say something.
 */
const LEAN = {
  comments: { legal: true, annotation: false, jsdoc: false },
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
};

const build = await rolldown({
  input: { main: `${root}packages/cli/dist/main.js` },
  platform: 'node',
  // For groups that leave what their modules need where it is.
  preserveEntrySignatures: 'allow-extension',
  plugins: [outside, ownPlace, laboratory],
});
await build.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
  cleanDir: true,
  codeSplitting: { groups: TOGETHER, includeDependenciesRecursively: false },
  ...LEAN,
});
await build.close();
