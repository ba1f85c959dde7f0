import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realPathOf } from './paths.js';

/** Granularity of file time stamps: a change within this time (ms) of loading may go unnoticed. */
const RACY_MS = 20;
/** Above this many files, checks are not made for every run: a check takes microseconds per file. */
const ALWAYS_CHECKED_MAX = 32;
/** Lifetime (ms) of a cached check of more files. */
const REUSE_MS = 5;
/** Literal specifiers of imports and requires; a match in a comment does no harm. */
const LITERAL = /\b(?:from|import|require|resolve)\b\s*\(?\s*(['"`])([^'"`\n$]+)\1/g;
/** An import whose specifier is computed at run time. */
const COMPUTED = /\bimport\s*\(\s*(?!\s|'[^']*'\s*[,)]|"[^"]*"\s*[,)]|`[^`$]*`\s*[,)])/;
const SCRIPT = /\.[cm]?[jt]s$/;
/** Extensions that `require` adds. */
const EXTENSIONS = ['', '.js', '.json', '.cjs', '/index.js'];
/** Stands for an unknown version, which differs from that of any file. */
const UNKNOWN_VERSION = 'unsure';

/**
 * The files of all modules that this thread has loaded and Node will not reload. Node lists CommonJS modules and
 * JSON; for ES modules the sources are scanned for imports.
 */
export class LoadedFiles {
  readonly #versions = new Map<string, string>();
  /** Targets of paths with symbolic links. */
  readonly #links = new Map<string, string>();
  readonly #cache = createRequire(import.meta.url).cache;
  #cached = Object.keys(this.#cache).length;
  #sinceMs = 0;
  #hasComputedImports = false;
  #hasChanged = false;
  #validUntil = 0;

  /** Whether some module may import files that no source names, so that changes may go unnoticed. */
  get isIncomplete(): boolean {
    return this.#hasComputedImports;
  }

  /** Call it before modules are loaded. */
  begin(): void {
    this.#sinceMs = Date.now();
  }

  /** Records an imported module and all its imports. */
  imported(path: string): void {
    const left = [path];
    for (let next = left.pop(); next !== undefined; next = left.pop()) left.push(...this.#add(next));
    this.recordLoaded();
  }

  /** Records the modules that were required during a run. */
  recordLoaded(): void {
    const paths = Object.keys(this.#cache);
    for (const path of paths.slice(this.#cached)) this.#file(path);
    this.#cached = paths.length;
  }

  /** Whether any file has changed since it was loaded. */
  get hasChanged(): boolean {
    if (this.#versions.size > ALWAYS_CHECKED_MAX) {
      const now = performance.now();
      if (now < this.#validUntil) return this.#hasChanged;
      this.#validUntil = now + REUSE_MS;
    }
    this.#hasChanged ||= this.#findChange();
    return this.#hasChanged;
  }

  #findChange(): boolean {
    for (const [path, version] of this.#versions) if (versionOf(path) !== version) return true;
    for (const [path, target] of this.#links) if (realPathOf(path) !== target) return true;
    return false;
  }

  /** @returns the paths that the file imports */
  #add(path: string): string[] {
    const file = realPathOf(path);
    if (file === undefined) return [];
    // A path without links needs no second lookup: its replacement is another file.
    if (file !== path) this.#links.set(path, file);
    if (this.#versions.has(file)) return [];
    this.#file(file);
    if (!SCRIPT.test(file)) return [];
    let source: string;
    try {
      source = readFileSync(file, 'utf8');
    } catch {
      return [];
    }
    // Packages use their own import mechanisms and rarely change.
    if (!file.includes(`${sep}node_modules${sep}`)) this.#hasComputedImports ||= COMPUTED.test(source);
    const specifiers = new Set(Array.from(source.matchAll(LITERAL), ([, , specifier]) => specifier!));
    return [...specifiers].flatMap((specifier) => resolved(specifier, file) ?? []);
  }

  #file(path: string): void {
    if (this.#versions.has(path)) return;
    const changedMs = statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? Number.POSITIVE_INFINITY;
    const isSure = this.#sinceMs - changedMs > RACY_MS;
    this.#versions.set(path, isSure ? versionOf(path) : UNKNOWN_VERSION);
  }
}

/** Resolves a specifier of this file, without following links; undefined if it is missing or a module of Node. */
function resolved(specifier: string, file: string): string | undefined {
  if (specifier.startsWith('file:') || specifier.startsWith('.') || isAbsolute(specifier)) {
    try {
      const path = specifier.startsWith('file:')
        ? fileURLToPath(specifier)
        : resolve(dirname(file), specifier.replace(/[?#].*$/, ''));
      return EXTENSIONS.map((ending) => `${path}${ending}`).find(isFile);
    } catch {
      return undefined;
    }
  }
  try {
    const path = createRequire(file).resolve(specifier);
    return isAbsolute(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The change time is updated by every write, even one that resets the modification time. */
function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? 'none' : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
