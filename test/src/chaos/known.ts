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

export function knownPath(name: string): string {
  return join(FOLDER, `${name}.json`);
}

export function readKnown(name: string): Known {
  return JSON.parse(readFileSync(knownPath(name), 'utf8')) as Known;
}

/** @returns its path */
export function writeKnown(name: string, known: Known): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = knownPath(name);
  writeFileSync(path, textOf(known));
  return path;
}

/** Returns a plan as JSON with an order or a fault per line, so that a diff shows what was left out. */
export function textOf({ plan, ...known }: Known): string {
  const fields = Object.entries(plan).map(([field, value]: [string, unknown]) => {
    const lines = Array.isArray(value) ? value.map((each) => `\n    ${JSON.stringify(each)}`) : [];
    return `\n  ${JSON.stringify(field)}: ${lines.length > 0 ? `[${lines.join()}]` : JSON.stringify(value)}`;
  });
  const others = Object.entries(known).map(([field, value]) => `\n"${field}": ${JSON.stringify(value)},`);
  return `{${others.join('')}\n"plan": {${fields.join()}}}\n`;
}
