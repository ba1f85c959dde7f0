#!/usr/bin/env node
// Builds the release into dist/: npm packages of the command and of the SDK, a Python
// wheel and a Debian package, with checksums and a bill of materials. They bundle Goshawk's packages; others come
// from npm, at the versions of the lock file, except in the Debian package, which contains them all.
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
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const options = readOptions('node scripts/release.mjs [OPTIONS]', {
  out: { type: 'string', default: join(ROOT, 'dist') },
  only: { type: 'string', default: 'command,client,wheel,deb' },
});
const out = resolve(options.out);
const only = new Set(options.only.split(','));
const { version, license, description, engines } = readJson(join(ROOT, 'package.json'));
const lock = readJson(join(ROOT, 'package-lock.json')).packages;

/** Time of the commit, for reproducible builds. */
const commitTime = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }).trim();

const stage = mkdtempSync(join(tmpdir(), 'goshawk-release-'));
try {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  if (only.has('command')) makeTarball(commandPackage());
  if (only.has('client')) makeTarball(clientPackage());
  if (only.has('wheel')) run('python3', [join(ROOT, 'packages/python/make_wheel.py'), out, version]);
  if (only.has('deb')) makeDebianPackage();
  const sbom = run('npm', ['run', '--silent', 'sbom'], { cwd: ROOT });
  writeFileSync(join(out, `goshawk-${version}.cdx.json`), sbom);
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

/** Returns a package of this repository and those that it depends on, by folder name. */
function withNeeded(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const each of Object.keys(manifestOf(name).dependencies ?? {}))
    if (each.startsWith('@goshawk/')) withNeeded(each.slice('@goshawk/'.length), found);
  return found;
}

function manifestOf(name) {
  return readJson(join(ROOT, 'packages', name, 'package.json'));
}

/** Returns the packages of the command, with the laboratory and tracing. */
function commandNames() {
  return withNeeded('tracing', withNeeded('lab', withNeeded('cli')));
}

/** Builds the package of the `goshawk` command. */
function commandPackage() {
  const names = commandNames();
  const folder = packageFolder('goshawk', names, { types: false });
  cpSync(join(ROOT, 'packages/cli/bundle'), join(folder, 'node_modules/@goshawk/cli/bundle'), {
    recursive: true,
  });
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin/goshawk.js'),
    "#!/usr/bin/env node\nrequire('../node_modules/@goshawk/cli/bin/goshawk.js');\n",
  );
  chmodSync(join(folder, 'bin/goshawk.js'), 0o755);
  writeManifest(folder, names, { name: 'goshawk', description, bin: { goshawk: 'bin/goshawk.js' } });
  return folder;
}

/** Builds the package `@goshawk/client`, which bundles the packages of this repository that it depends on. */
function clientPackage() {
  const names = withNeeded('client');
  const folder = packageFolder('client', names, { types: true });
  const own = join(folder, 'node_modules/@goshawk/client');
  cpSync(join(own, 'dist'), join(folder, 'dist'), { recursive: true });
  rmSync(own, { recursive: true });
  names.delete('client');
  const { exports, type, description } = manifestOf('client');
  writeManifest(folder, names, { name: '@goshawk/client', description, type, exports }, 'client');
  return folder;
}

/**
 * Packs all packages of this repository as npm would publish them.
 *
 * @returns the folder of the tarballs
 */
function packOnce() {
  const folder = join(stage, 'packed');
  if (existsSync(folder)) return folder;
  mkdirSync(folder);
  const workspaces = [...commandNames()].flatMap((name) => ['-w', `@goshawk/${name}`]);
  run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, ...workspaces], {
    cwd: ROOT,
  });
  return folder;
}

/** Copies packages of this repository into the node_modules of a new package. */
function packageFolder(product, names, { types }) {
  const packed = packOnce();
  const folder = join(stage, product, 'package');
  mkdirSync(join(folder, 'node_modules/@goshawk'), { recursive: true });
  for (const name of names) {
    const target = join(folder, 'node_modules/@goshawk', name);
    mkdirSync(target);
    run('tar', [
      '-xzf',
      join(packed, `goshawk-${name}-${version}.tgz`),
      '-C',
      target,
      '--strip-components=1',
    ]);
    // Dependencies are omitted, since npm would expect those of a bundled package to be bundled too; scripts
    // of bundled packages do not run.
    const { type, engines, exports } = readJson(join(target, 'package.json'));
    const manifest = { name: `@goshawk/${name}`, version, license, type, engines, exports };
    writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
    if (!types) run('find', [target, '-name', '*.d.ts', '-delete']);
  }
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  return folder;
}

function writeManifest(folder, names, fields, readme = undefined) {
  const own = [...names].map((name) => `@goshawk/${name}`).sort();
  const dependencies = Object.fromEntries(own.map((name) => [name, version]));
  for (const name of [...names, ...(readme === undefined ? [] : [readme])])
    for (const each of Object.keys(manifestOf(name).dependencies ?? {}))
      if (!each.startsWith('@goshawk/')) dependencies[each] = lockedVersion(name, each);
  const manifest = {
    ...fields,
    version,
    license,
    engines,
    dependencies: Object.fromEntries(Object.entries(dependencies).sort()),
    bundleDependencies: own,
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const text = readFileSync(join(ROOT, readme === undefined ? 'README.md' : `packages/${readme}/README.md`));
  writeFileSync(join(folder, 'README.md'), text);
}

function lockedVersion(name, dependency) {
  const found = lock[`packages/${name}/node_modules/${dependency}`] ?? lock[`node_modules/${dependency}`];
  return found.version;
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
  const workspaces = ['cli', 'lab', 'tracing'].flatMap((name) => ['--workspace', `@goshawk/${name}`]);
  const listed = run('npm', ['ls', '--omit=dev', '--all', '--parseable', ...workspaces], { cwd: ROOT });
  const modules = join(ROOT, 'node_modules/');
  for (const path of listed.trim().split('\n')) {
    const inside = path.startsWith(modules) ? path.slice(modules.length) : '';
    // Nested packages are copied with their parent.
    if (inside === '' || inside.startsWith('@goshawk/') || inside.includes('/node_modules/')) continue;
    cpSync(path, join(home, 'node_modules', inside), { recursive: true, dereference: true });
  }
  run('sh', [join(ROOT, 'scripts/image/prune-modules.sh'), join(home, 'node_modules')]);

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
