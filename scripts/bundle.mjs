#!/usr/bin/env node
// Bundles the compiled code into `packages/cli/bundle`, which `packages/cli/bin/goshawk.js` runs, because finding and
// reading 400 modules takes a third of the time of `goshawk jobs`, and half that of a short simulation. The page of the
// dashboard is bundled, too.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { writePage, writeWhole } from './page-bundle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}packages/cli/bundle`;

/**
 * Packages that are bundled: those of many small files with their dependencies, and those with several
 * versions. Others stay separate because they are native, find their files by path, or are loaded by few
 * commands.
 */
const BUNDLED = /^(@goshawk\/|(zod|yargs|msgpackr|nanoid|zeromq|fast-string-truncated-width)(\/|$))/;

/**
 * Reports whether a module stays outside of the bundle.
 *
 * @param importer undefined for an entry point
 */
function isExternal(name, importer) {
  if (importer === undefined || /^[./]/.test(name)) return false;
  if (name.startsWith('zeromq/')) return true;
  return name.startsWith('node:') || !(BUNDLED.test(name) || importer.includes('/node_modules/'));
}

/**
 * Keeps the original path of modules, by which they find their threads, version and dependencies. Packages of `research/` are
 * found by name, because an installed one is beside the command's package.
 */
const ownPlace = {
  name: 'own-place',
  transform(code, id) {
    if (!code.includes('import.meta.url')) return null;
    const [, name, path] = /\/packages\/research\/([a-z]+)\/dist\/(.*)$/.exec(id) ?? [];
    if (name === undefined) {
      const place = JSON.stringify(relative(folder, id));
      return {
        code: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`),
        map: null,
      };
    }
    const index = `__pathToFileURL(__createRequire(import.meta.url).resolve('@goshawk/${name}'))`;
    const imports =
      "import { createRequire as __createRequire } from 'node:module'; import { pathToFileURL as __pathToFileURL } from 'node:url';";
    return {
      code: `${imports}\n${code.replaceAll('import.meta.url', `new URL(${JSON.stringify(path)}, ${index}).href`)}`,
      map: null,
    };
  },
};

/** Optional packages, which the command imports by variables; the bundle contains them. */
const OPTIONAL = {
  'cli/dist/laboratory': { PACKAGE: '@goshawk/lab' },
  'runtime/dist/tracing/open': { PACKAGE: '@goshawk/tracing' },
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
 * Tries the ZeroMQ addon that is found here first, since the search for it takes as long as loading the rest
 * of ZeroMQ. The search is the fallback if that addon does not load.
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

/**
 * Keeps what yargs needs to lay out help, but not to read a command line, in a separate file that is loaded on
 * demand.
 */
const layout = {
  name: 'layout',
  resolveId(name, importer) {
    if (name === 'help-layout') return '\0help-layout';
    if (name === './help-layout.cjs') return { id: name, external: true };
    const isOfHelp = name === 'cliui' || name === 'string-width';
    return isOfHelp && importer?.endsWith('/platform-shims/esm.mjs') ? `\0on-demand:${name}` : null;
  },
  load(id) {
    const { resolve } = createRequire(createRequire(import.meta.url).resolve('yargs'));
    if (id === '\0help-layout')
      return ['cliui', 'string-width']
        .map((name) => `export { default as '${name}' } from '${resolve(name)}';`)
        .join('\n');
    const [, name] = /^\0on-demand:(.*)$/.exec(id) ?? [];
    if (name === undefined) return null;
    return `module.exports = (...given) => require('./help-layout.cjs')['${name}'](...given);`;
  },
};

/**
 * Checks external modules: Node.js resolves them from the bundle, and must find the same version as from
 * their importer.
 */
const outside = {
  name: 'outside',
  resolveId(name, importer) {
    if (!isExternal(name, importer)) return null;
    const [scope, rest] = name.split('/');
    const own = scope.startsWith('@') ? `${scope}/${rest}` : scope;
    const [home] = importer.split('/dist/');
    if (existsSync(`${home}/node_modules/${own}`))
      throw new Error(`${home} has a separate ${own}: add it to BUNDLED in scripts/bundle.mjs`);
    return { id: name, external: true };
  },
};

const build = await rolldown({
  input: { main: `${root}packages/cli/dist/main.js`, 'help-layout': 'help-layout' },
  platform: 'node',
  // Yargs asks for a file of its configuration only if a program extends another.
  transform: { define: { 'import.meta.resolve': 'undefined' } },
  plugins: [outside, addon, layout, ownPlace, optional],
});
const { output } = await build.generate({
  // `goshawk jobs` takes a sixth less time than with ES modules, which Node.js links one by one.
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  comments: false,
});
await build.close();
writeWhole(folder, Object.fromEntries(output.map(({ fileName, code }) => [fileName, code])));
await writePage();
