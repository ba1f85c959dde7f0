// Bundles the scripts and the styles of the page into `packages/gateway/dist/page`, from their sources: a page of few files
// appears soon on a slow line. The page imports the formats and words of the core.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const gateway = `${root}packages/gateway`;

/** The start and the list of jobs; the pictures of the overview; all other views. */
const SCRIPTS = ['main.js', 'pictures.js', 'views.js'];

/** Returns the files of the bundle by name. */
export async function pageBundle() {
  const build = await rolldown({
    input: `${gateway}/page/src/main.tsx`,
    platform: 'browser',
    tsconfig: `${gateway}/page/tsconfig.json`,
    resolve: {
      alias: { '@goshawk/core': `${root}packages/core/src/index.ts` },
      extensionAlias: { '.js': ['.ts', '.tsx', '.js'] },
    },
    // The modules of the core declare; only their used declarations belong to the page.
    treeshake: { moduleSideEffects: (id) => !id.includes('/packages/core/') },
    onLog(level, log, report) {
      if (level === 'warn') throw new Error(log.message);
      report(level, log);
    },
  });
  try {
    const { output } = await build.generate({
      // The start has everything that it imports, so that no view needs a further file of shared parts.
      codeSplitting: { groups: [{ name: 'start', test: /\/page\/src\/main\.tsx$/ }] },
      ...{ format: 'es', minify: true, comments: false },
      ...{ entryFileNames: '[name].js', chunkFileNames: '[name].js' },
    });
    const scripts = output.map(({ fileName, code }) => [fileName, code]);
    const names = scripts.map(([name]) => name).sort();
    if (names.join() !== SCRIPTS.join()) throw new Error(`the page has the scripts ${names}, not ${SCRIPTS}`);
    const uplot = `${dirname(createRequire(`${gateway}/package.json`).resolve('uplot'))}/uPlot.min.css`;
    const styles = [uplot, `${gateway}/page/style.css`].map((file) => readFileSync(file, 'utf8')).join('\n');
    return { ...Object.fromEntries(scripts), 'style.css': styles.replaceAll(/\/\*[\s\S]*?\*\/|^\s+/gm, '') };
  } finally {
    await build.close();
  }
}

/** Builds the files. */
export async function writePage() {
  writeWhole(`${gateway}/dist/page`, await pageBundle());
}

/** Replaces the files of a folder one by one. A process that starts meanwhile finds each of them, and whole. */
export function writeWhole(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(`${folder}/.${name}.${process.pid}`, text);
    renameSync(`${folder}/.${name}.${process.pid}`, `${folder}/${name}`);
  }
  // Another build of the folder may be at work on its temporary files.
  const outdated = readdirSync(folder).filter((name) => !name.startsWith('.') && !Object.hasOwn(files, name));
  for (const name of outdated) rmSync(`${folder}/${name}`, { recursive: true, force: true });
}
