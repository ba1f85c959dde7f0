import { pathToFileURL } from 'node:url';
import { type Mutant, pathOf, planted } from './mutant.js';

interface Loaded {
  readonly format: string;
  readonly shortCircuit?: boolean;
  readonly source: string;
}

let url = '';
let source = '';

/** Called by Node's module loader, in a separate thread. */
export function initialize(mutant: Mutant): void {
  url = pathToFileURL(pathOf(mutant)).href;
  source = planted(mutant);
}

/** Provides the one changed file, so that production code needs no switches. */
export async function load(
  wanted: string,
  context: unknown,
  next: (wanted: string, context: unknown) => Promise<Loaded>,
): Promise<Loaded> {
  return wanted === url ? { format: 'module', shortCircuit: true, source } : next(wanted, context);
}
