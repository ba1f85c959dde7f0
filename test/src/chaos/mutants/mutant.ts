import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A deliberate bug, to check whether the fault injector finds it: a change of one compiled file. */
export interface Mutant {
  /** Whether clusters whose schedulers share a journal should find it. */
  readonly shared?: true;
  /** Whether clusters without faults should find it. */
  readonly faultFree?: true;
  /** Whether hostile peers should find it, which send arbitrary messages, rather than clusters with faults. */
  readonly hostile?: true;
  /** The first seed that found it; a test plays it and some later ones. */
  readonly seed?: number;
  /** The unit test file that should find it. `file` is then that of the source, and `find` a text of TypeScript. */
  readonly test?: string;
  readonly name: string;
  /** The bug that it introduces. */
  readonly what: string;
  /** `scheduler/ledger`: the file `packages/scheduler/dist/ledger.js`, or `packages/scheduler/src/ledger.ts`. */
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

const PACKAGES = resolve(import.meta.dirname, '../../../../packages');

export function pathOf({ file, test }: Mutant): string {
  const slash = file.indexOf('/');
  const name = file.slice(slash + 1);
  const path = test === undefined ? join('dist', `${name}.js`) : join('src', `${name}.ts`);
  return join(PACKAGES, file.slice(0, slash), path);
}

/** @throws Error if the bug cannot be planted, because the file has changed or is not built */
function plant(mutant: Mutant, source: string): string {
  const parts = source.split(mutant.find);
  if (parts.length !== 2)
    throw new Error(`${mutant.name}: what it changes is ${parts.length - 1} times in ${mutant.file}`);
  return parts.join(mutant.replace);
}

/** The changed text of its file. */
export function planted(mutant: Mutant): string {
  return plant(mutant, readFileSync(pathOf(mutant), 'utf8'));
}
