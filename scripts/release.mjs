#!/usr/bin/env node
// Builds the release into dist/: npm packages of the command and of the SDK, a Python wheel and a Debian package, with
// checksums and a bill of materials. They bundle Goshawk's packages and those that these need, at the versions of the lock
// file and without files that no process loads. npm packages leave native ones to npm, which has them for each platform.
//
//     node scripts/release.mjs [--out FOLDER] [--only command,client,wheel,deb]
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.mjs';
import { packageFolders } from './packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const EVERYTHING = 'command,client,wheel,deb';
const options = readOptions('node scripts/release.mjs [OPTIONS]', {
  out: join(ROOT, 'dist'),
  only: EVERYTHING,
});
const out = resolve(options.out);
const only = new Set(options.only.split(','));
const { version, license, description, engines } = readJson(join(ROOT, 'package.json'));
const folders = packageFolders();
const lock = readJson(join(ROOT, 'package-lock.json')).packages;

/** Time of the commit, for reproducible builds. */
const commitTime = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }).trim();

const stage = mkdtempSync(join(tmpdir(), 'goshawk-release-'));
try {
  // With --only, packages of earlier runs stay.
  if (options.only === EVERYTHING) rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  compile();
  if (only.has('command')) makeTarball(commandPackage());
  if (only.has('client')) makeTarball(clientPackage());
  if (only.has('wheel')) run('python3', [join(ROOT, 'packages/python/make_wheel.py'), out, version]);
  if (only.has('deb')) makeDebianPackage();
  if (options.only === EVERYTHING) {
    const sbom = run('npm', ['run', '--silent', 'sbom'], { cwd: ROOT });
    writeFileSync(join(out, `goshawk-${version}.cdx.json`), sbom);
  }
  writeFileSync(join(out, 'SHA256SUMS'), checksums());
} finally {
  rmSync(stage, { recursive: true, force: true });
}
for (const name of readdirSync(out)) console.log(name);

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function run(command, args, { cwd = stage } = {}) {
  // npm sets variables for its scripts that would change the project of the npm started here.
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...Object.fromEntries(inherited), SOURCE_DATE_EPOCH: commitTime },
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Compiles what the packages contain. Without tests, which are a third of the code, this takes a third less time. */
function compile() {
  const isOfCommand = only.has('command') || only.has('deb');
  const names = new Set([...(isOfCommand ? commandNames() : []), ...(only.has('client') ? ['client'] : [])]);
  if (names.size === 0) return;
  const written = new Set();
  /** Writes a configuration without tests, and those of the projects that it refers to. */
  const configure = (folder) => {
    const file = join(folder, 'tsconfig.release.json');
    if (written.has(file)) return file;
    written.add(file);
    const { references = [] } = readJson(join(folder, 'tsconfig.json'));
    const config = {
      extends: './tsconfig.json',
      exclude: ['**/*.test.ts', '**/*.test.tsx', '**/*.fixture.ts'],
      references: references.map(({ path }) => ({ path: configure(join(folder, path)) })),
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  };
  try {
    const roots = [...names].map((name) => configure(join(ROOT, folders.get(name))));
    run('npx', ['tsc', '-b', ...roots], { cwd: ROOT });
  } finally {
    // Without what it remembers of the last build, it does not miss that `dist` was removed.
    for (const file of written)
      for (const path of [file, file.replace(/json$/, 'tsbuildinfo')]) rmSync(path, { force: true });
  }
  if (isOfCommand) run(process.execPath, [join(ROOT, 'scripts/bundle.mjs')], { cwd: ROOT });
}

/** Returns a package of this repository and those that it depends on, by folder name. */
function withNeeded(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const each of Object.keys(manifestOf(name).dependencies ?? {}))
    if (each.startsWith('@goshawk/')) withNeeded(each.slice('@goshawk/'.length), found);
  return found;
}

function manifestOf(name) {
  return readJson(join(ROOT, folders.get(name), 'package.json'));
}

/** Returns the packages of the command, with the laboratory and tracing. */
function commandNames() {
  return withNeeded('tracing', withNeeded('lab', withNeeded('cli')));
}

/** Builds the package of the `goshawk` command. */
function commandPackage() {
  const names = commandNames();
  const folder = packageFolder('goshawk', names);
  // `dist` stays beside the bundle: threads and processes of tasks start from it.
  cpSync(join(ROOT, 'packages/cli/bundle'), join(folder, 'node_modules/@goshawk/cli/bundle'), {
    recursive: true,
  });
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin/goshawk.js'),
    "#!/usr/bin/env node\nrequire('../node_modules/@goshawk/cli/bin/goshawk.js');\n",
  );
  chmodSync(join(folder, 'bin/goshawk.js'), 0o755);
  for (const name of ['core', 'policies']) copyTypes(name, folder);
  writeFileSync(
    join(folder, 'policy.d.ts'),
    "export * from './node_modules/@goshawk/policies/dist/contract.js';\n",
  );
  const exports = { './policy': { types: './policy.d.ts' }, './package.json': './package.json' };
  writeManifest(folder, names, { name: 'goshawk', description, exports, bin: { goshawk: 'bin/goshawk.js' } });
  return folder;
}

/** Copies the declarations of a package: custom policies are compiled against those of their contract. */
function copyTypes(name, folder) {
  const filter = (path) =>
    !/\.(?:test|fixture)\.d\.ts$/.test(path) && (/\.d\.ts$/.test(path) || !basename(path).includes('.'));
  cpSync(join(ROOT, folders.get(name), 'dist'), join(folder, 'node_modules/@goshawk', name, 'dist'), {
    recursive: true,
    filter,
  });
}

/** Builds the package `@goshawk/client`, which bundles the packages of this repository that it depends on. */
function clientPackage() {
  const names = withNeeded('client');
  const folder = packageFolder('client', names, '--types');
  const own = join(folder, 'node_modules/@goshawk/client');
  cpSync(join(own, 'dist'), join(folder, 'dist'), { recursive: true });
  rmSync(own, { recursive: true });
  const { exports, type, description } = manifestOf('client');
  const fields = { name: '@goshawk/client', description, type, exports };
  writeManifest(folder, names, fields, 'packages/client/README.md');
  return folder;
}

/** Copies the files of a package of this repository that its manifest lists. `npm pack` would take a second for each package. */
function copyPublished(name, target) {
  const folder = join(ROOT, folders.get(name));
  const { files } = manifestOf(name);
  const omitted = files
    .filter((pattern) => pattern.startsWith('!'))
    .map((pattern) => matcher(pattern.slice(1)));
  const filter = (path) => !omitted.some((pattern) => pattern.test(relative(folder, path)));
  for (const pattern of files.filter((each) => !each.startsWith('!'))) {
    const isListed = matcher(pattern);
    const found = readdirSync(join(folder, dirname(pattern)))
      .map((entry) => join(dirname(pattern), entry))
      .filter((path) => isListed.test(path));
    for (const path of found) cpSync(join(folder, path), join(target, path), { recursive: true, filter });
  }
}

/** Returns a matcher of a pattern of `files` in a manifest: a path, in which `*` stands for a name and `**` for folders. */
function matcher(pattern) {
  const parts = pattern.split('**/').map((part) => part.split('*').map(quoteRegExp).join('[^/]*'));
  return new RegExp(`^${parts.join('(?:.*/)?')}$`);
}

function quoteRegExp(text) {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
}

/** Copies packages of this repository, and the third-party packages that they need, into the node_modules of a new package. */
function packageFolder(product, names, ...pruneOptions) {
  const folder = join(stage, product, 'package');
  mkdirSync(join(folder, 'node_modules/@goshawk'), { recursive: true });
  for (const name of names) {
    const target = join(folder, 'node_modules/@goshawk', name);
    mkdirSync(target);
    copyPublished(name, target);
    // Dependencies are omitted, since npm would expect those of a bundled package to be bundled too; scripts
    // of bundled packages do not run.
    const { type, engines, exports } = manifestOf(name);
    const manifest = { name: `@goshawk/${name}`, version, license, type, engines, exports };
    writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  }
  const bundled = [...thirdParty(names)].filter((path) => !isNative(path));
  copyInstalled(bundled, folder);
  for (const path of bundled) {
    // As above: the optional dependency of msgpackr is native, so it is not bundled.
    const { optionalDependencies, ...manifest } = readJson(join(folder, path, 'package.json'));
    writeFileSync(join(folder, path, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  }
  prune(join(folder, 'node_modules'), ...pruneOptions);
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  return folder;
}

function writeManifest(folder, names, fields, readme = 'README.md') {
  const modules = join(folder, 'node_modules');
  const bundled = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name],
  );
  const dependencies = bundled.map((name) => [name, readJson(join(modules, name, 'package.json')).version]);
  const optionalDependencies = [];
  for (const path of [...thirdParty(names)].filter(isNative)) {
    const found = lock[path].optional ? optionalDependencies : dependencies;
    found.push([path.slice('node_modules/'.length), lock[path].version]);
  }
  const manifest = {
    ...fields,
    version,
    license,
    engines,
    dependencies: Object.fromEntries(dependencies.sort()),
    optionalDependencies: Object.fromEntries(optionalDependencies),
    bundleDependencies: bundled.sort(),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  cpSync(join(ROOT, readme), join(folder, 'README.md'));
}

/** Reports whether npm has to install a package, because it contains or builds binaries of a platform. */
function isNative(path) {
  return lock[path].hasInstallScript === true;
}

/**
 * Returns the third-party packages that packages of this repository need, as paths of the lock file.
 *
 * @param ofNative whether to include what native packages need
 */
function thirdParty(names, { ofNative = false } = {}) {
  const paths = new Set();
  const addNeeded = (from) => {
    const { dependencies, optionalDependencies } = lock[from];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (name.startsWith('@goshawk/')) continue;
      const path = locate(from, name);
      // Optional packages are not installed if they are for another platform.
      if (paths.has(path) || (lock[path].optional && !existsSync(join(ROOT, path)))) continue;
      paths.add(path);
      if (ofNative || !isNative(path)) addNeeded(path);
    }
  };
  for (const name of names) addNeeded(folders.get(name));
  return paths;
}

/** Returns the path of the package that Node.js loads as `name` in the package at `from`. */
function locate(from, name) {
  const path = join(from, 'node_modules', name);
  if (lock[path] !== undefined) return path;
  if (from === '') throw new Error(`package-lock.json does not contain ${name}`);
  return locate(from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
}

/** Copies installed packages without those inside of them. */
function copyInstalled(paths, folder) {
  for (const path of paths) {
    const source = join(ROOT, path);
    if (readJson(join(source, 'package.json')).version !== lock[path].version)
      throw new Error(`${path} is not the version of package-lock.json: run npm ci`);
    cpSync(source, join(folder, path), {
      recursive: true,
      dereference: true,
      // `prune` would delete the maps, a quarter of all files.
      filter: (file) => basename(file) !== 'node_modules' && !file.endsWith('.map'),
    });
  }
}

function prune(modules, ...options) {
  run('sh', [join(ROOT, 'scripts/image/prune-modules.sh'), modules, ...options]);
}

/**
 * Writes a tarball like `npm pack`, which would omit files that `files` of bundled packages does not list.
 */
function makeTarball(folder) {
  const { name } = readJson(join(folder, 'package.json'));
  const file = join(out, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  const sameEachTime = ['--sort=name', `--mtime=@${commitTime}`, '--owner=0', '--group=0', '--numeric-owner'];
  run('tar', [...sameEachTime, '-C', join(folder, '..'), '-I', 'gzip -9n', '-cf', file, 'package']);
}

/** Builds a package of the command with all dependencies except Node.js, and a systemd unit for each role. */
function makeDebianPackage() {
  const root = join(stage, 'deb');
  const home = join(root, 'usr/lib/goshawk');
  mkdirSync(join(home, 'node_modules'), { recursive: true });
  const command = existsSync(join(stage, 'goshawk/package'))
    ? join(stage, 'goshawk/package')
    : commandPackage();
  cpSync(join(command, 'node_modules/@goshawk'), join(home, 'node_modules/@goshawk'), { recursive: true });
  copyInstalled(thirdParty(commandNames(), { ofNative: true }), home);
  prune(join(home, 'node_modules'));

  const debian = join(ROOT, 'deploy/debian');
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  cpSync(join(debian, 'goshawk'), join(root, 'usr/bin/goshawk'));
  mkdirSync(join(root, 'usr/lib/systemd/system'), { recursive: true });
  cpSync(join(ROOT, 'deploy/systemd'), join(root, 'usr/lib/systemd/system'), { recursive: true });
  mkdirSync(join(root, 'usr/share/doc/goshawk'), { recursive: true });
  cpSync(join(ROOT, 'LICENSE'), join(root, 'usr/share/doc/goshawk/copyright'));
  cpSync(join(debian, 'control-scripts'), join(root, 'DEBIAN'), { recursive: true });
  const architecture = run('dpkg', ['--print-architecture']).trim();
  const [kibibytes] = run('du', ['-sk', root]).split('\t');
  const control = readFileSync(join(debian, 'control'), 'utf8')
    .replace('@VERSION@', version)
    .replace('@ARCHITECTURE@', architecture)
    .replace('@SIZE@', kibibytes);
  writeFileSync(join(root, 'DEBIAN/control'), control);
  run('chmod', ['-R', 'u=rwX,go=rX', root]);
  run('chmod', [
    '755',
    join(root, 'usr/bin/goshawk'),
    join(root, 'DEBIAN/postinst'),
    join(root, 'DEBIAN/prerm'),
  ]);
  const file = join(out, `goshawk_${version}_${architecture}.deb`);
  run('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', root, file]);
}

function checksums() {
  const lines = readdirSync(out).map((name) => {
    const sum = createHash('sha256').update(readFileSync(join(out, name)));
    return `${sum.digest('hex')}  ${name}\n`;
  });
  return lines.join('');
}
