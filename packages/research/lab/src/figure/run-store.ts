import { createHash } from 'node:crypto';
import { readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import { VERSION } from '@goshawk/command';
import { counted } from '@goshawk/core';
import type { FinishedRun } from '@goshawk/papers/figures';
import { writeTogether } from '../output/files.js';
import type { RunRequest } from '../simulate/request.js';

/** Name of the folder of finished runs, in the folder of the figures. */
export const UNFINISHED = '.unfinished';

/**
 * Stores finished runs that figures share, such as Hawk's at each cluster size. They are also kept in files until the
 * command has written its figures, so that the same command continues after an interruption.
 */
export class RunStore {
  readonly #made = new Map<string, unknown>();
  readonly #folder: string;
  readonly #stamp: string;
  /** Files that this command wrote or read. */
  readonly #files = new Set<string>();
  #resumed = 0;

  /** @param stamp identifies everything besides the key that determines a run: the program, and the files it reads */
  constructor(folder: string, stamp: string) {
    this.#folder = join(folder, UNFINISHED);
    this.#stamp = stamp;
  }

  /** Makes a value once per key of these parts. */
  async once<T>(parts: readonly unknown[], make: () => Promise<T>): Promise<T> {
    const key = JSON.stringify(parts);
    if (!this.#made.has(key)) this.#made.set(key, await make());
    return this.#made.get(key) as T;
  }

  /** Makes a run once per key of these parts, which are plain data and determine it. */
  run<T>(parts: readonly unknown[], make: () => T | Promise<T>): Promise<T> {
    return this.once(parts, async () => {
      const key = JSON.stringify(parts);
      const kept = await this.#read(key);
      if (kept !== undefined) return kept as T;
      const made = await make();
      await this.#keep(key, made);
      return made;
    });
  }

  /**
   * Returns a run of a workload for each request. A request is plain data that determines its run.
   *
   * @param make makes all missing runs, and calls `made` as soon as one is finished
   */
  async runs(
    workload: string,
    requests: readonly RunRequest[],
    make: (
      missing: readonly RunRequest[],
      made: (index: number, run: FinishedRun) => Promise<void>,
    ) => Promise<void>,
  ): Promise<FinishedRun[]> {
    const keys = requests.map((request) => JSON.stringify([workload, request]));
    const missing = new Map<string, RunRequest>();
    for (const [index, key] of keys.entries()) {
      if (this.#made.has(key) || missing.has(key)) continue;
      const kept = await this.#read(key);
      if (kept === undefined) missing.set(key, requests[index]!);
      else this.#made.set(key, kept);
    }
    const names = [...missing.keys()];
    const made = async (index: number, run: FinishedRun): Promise<void> => {
      this.#made.set(names[index]!, run);
      await this.#keep(names[index]!, run);
    };
    if (missing.size > 0) await make([...missing.values()], made);
    return keys.map((key) => this.#made.get(key) as FinishedRun);
  }

  /** Number of runs of earlier commands that have been used since the last call. */
  takeResumed(): number {
    const resumed = this.#resumed;
    this.#resumed = 0;
    return resumed;
  }

  /** Says what an interruption leaves. */
  left(): string {
    return this.#files.size === 0
      ? 'nothing was written'
      : `the same command continues with the ${counted(this.#files.size, 'finished run')} in ${this.#folder}`;
  }

  /** Removes the files of this command. Those of another one stay. */
  async clear(): Promise<void> {
    for (const file of this.#files) await rm(file, { force: true });
    if (this.#files.size > 0) await rmdir(this.#folder).catch(() => {});
    this.#files.clear();
  }

  async #read(key: string): Promise<unknown> {
    const file = this.#fileOf(key);
    try {
      const value: unknown = deserialize(await readFile(file));
      this.#files.add(file);
      this.#resumed++;
      return value;
    } catch {
      // Missing or damaged: the run is made again.
      return undefined;
    }
  }

  async #keep(key: string, value: unknown): Promise<void> {
    const file = this.#fileOf(key);
    await writeTogether(this.#folder, { [file.slice(this.#folder.length + 1)]: serialize(value) });
    this.#files.add(file);
  }

  #fileOf(key: string): string {
    return join(this.#folder, `${createHash('sha256').update(this.#stamp).update(key).digest('hex')}.run`);
  }
}

/** Packages whose code determines the results of runs. */
const PACKAGES = [
  'core',
  'scheduler',
  'central',
  'worker',
  'policies',
  'predictor',
  'simulator',
  'papers',
  'report',
  'traces',
];

/**
 * Identifies this program and files, so that no run of other code or other data continues a figure: by paths, sizes and times
 * of change.
 *
 * @param paths of files and folders; missing ones are ignored
 */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const { resolve } = createRequire(import.meta.url);
  const code = PACKAGES.flatMap((name) => {
    try {
      return [dirname(resolve(`@goshawk/${name}`))];
    } catch {
      // An installed bundle has no packages; its version identifies it.
      return [];
    }
  });
  const hash = createHash('sha256').update(`${VERSION} ${process.version}`);
  for (const path of [fileURLToPath(new URL('..', import.meta.url)), ...code, ...paths]) {
    for (const line of await listed(path)) hash.update(line);
  }
  return hash.digest('hex');
}

async function listed(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return [];
  if (!found.isDirectory()) return [`${path} ${found.size} ${found.mtimeMs}\n`];
  const names = (await readdir(path)).filter((name) => !/\.(map|d\.ts)$/.test(name)).sort();
  return (await Promise.all(names.map((name) => listed(join(path, name))))).flat();
}
