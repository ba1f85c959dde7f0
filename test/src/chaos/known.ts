import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Plan } from './plan.js';

/** A run that once failed. It is stored completely, so that changes to the drawing of plans do not affect it. */
interface Known {
  /** The bug and its fix. */
  readonly what: string;
  /** Why the run still fails, if it does. */
  readonly open?: string | undefined;
  readonly plan: Plan;
}

const FOLDER = resolve(import.meta.dirname, '../../chaos');

export function knownNames(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length));
}

export function readKnown(name: string): Known {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')) as Known;
}

/** @returns its path */
export function writeKnown(name: string, known: Known): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `${name}.json`);
  writeFileSync(path, `${JSON.stringify(known, null, 2)}\n`);
  return path;
}
