// Caches the code of the bundle as compiled by V8. The compile cache of Node.js 22 and 24 costs 25 ms more per call,
// and Node.js 20 has none.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
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

/** Reads a file unless another user, who could have planted code, owns it. */
function readIfOwn(file) {
  try {
    return isOwn(file) ? readFileSync(file) : undefined;
  } catch {
    return undefined;
  }
}

function isOwn(path) {
  return process.geteuid === undefined || statSync(path).uid === process.geteuid();
}

/** A failure to write the cache is not an error. */
function store(file, data) {
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.${process.pid}`, data);
    renameSync(`${file}.${process.pid}`, file);
  } catch {}
}
