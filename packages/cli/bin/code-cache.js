// Caches the code of the bundle as compiled by V8. The compile cache of Node.js 22 and 24 costs 25 ms more per call,
// and Node.js 20 has none.
const { createHash } = require('node:crypto');
const {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const Module = require('node:module');
const { dirname, join } = require('node:path');
const { Script } = require('node:vm');

/** Smaller files compile faster than their cached code is read. */
const LENGTH_MIN = 20_000;

/** Makes `require` take the compiled code of files in `bundle` from `folder`, and store it at exit. */
exports.cacheCode = (bundle, folder) => {
  const compile = Module.prototype._compile;
  const missing = new Map();
  Module.prototype._compile = function (content, filename, ...rest) {
    // Cached code cannot import: V8 does not keep the callback for it.
    if (content.length < LENGTH_MIN || !filename.startsWith(bundle) || content.includes('import('))
      return compile.call(this, content, filename, ...rest);
    // V8 checks its own version and flags, but of the source only the length.
    const key = createHash('sha1').update(`${filename}\n${content}`).digest('hex');
    const file = join(folder, `${process.version}-${process.arch}`, key);
    const script = new Script(Module.wrap(content), {
      filename,
      cachedData: readIfOwn(file),
    });
    if (script.cachedDataRejected !== false) missing.set(file, script);
    const load = script.runInThisContext();
    load.call(this.exports, this.exports, (name) => this.require(name), this, filename, join(filename, '..'));
  };
  // Functions that ran are compiled by then.
  process.on('exit', () => {
    for (const [file, script] of missing) store(file, script.createCachedData());
  });
};

/**
 * Returns whether only this user can write to a folder in `caches`, or nobody has created it and `caches` is this user's. Root
 * may have the HOME of another user (sudo), in which it must not create folders.
 */
exports.isOwn = (caches, name) => {
  try {
    const stats = lstatSync(join(caches, name), { throwIfNoEntry: false });
    if (stats !== undefined) return stats.isDirectory() && isPrivate(stats);
    let parent = caches;
    while (!existsSync(parent) && parent !== dirname(parent)) parent = dirname(parent);
    return isPrivate(statSync(parent));
  } catch {
    return false;
  }
};

/** Code of a file that another user can write would run as this one. */
function isPrivate({ uid, gid, mode }) {
  if (process.geteuid === undefined) return true;
  // A group with the id of its user has no other members.
  return uid === process.geteuid() && (mode & (gid === uid ? 0o002 : 0o022)) === 0;
}

function readIfOwn(file) {
  try {
    return isPrivate(lstatSync(join(file, '..'))) && isPrivate(lstatSync(file))
      ? readFileSync(file)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A failure to write the cache is not an error. */
function store(file, data) {
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    if (!isPrivate(lstatSync(join(file, '..')))) return;
    writeFileSync(`${file}.${process.pid}`, data, { mode: 0o600, flag: 'wx' });
    renameSync(`${file}.${process.pid}`, file);
  } catch {}
}
