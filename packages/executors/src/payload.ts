import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecPayload, ModulePayload, Payload } from './contract.js';

/** A payload that cannot be run; the message names the field. */
export class BadPayload extends Error {
  override readonly name = 'BadPayload';
}

export type PayloadKind = 'sleep' | 'exec' | 'module';

const KINDS: readonly PayloadKind[] = ['sleep', 'exec', 'module'];

/**
 * Which executor a payload is for. What comes over the network was validated at the door, but programs
 * that hold an executor in their hands were not, and a payload is the one part of a job that does harm.
 */
export function payloadKind(payload: Payload): PayloadKind {
  if (typeof payload !== 'object' || payload === null) {
    throw new BadPayload('a payload is an object with one of sleep, exec and module');
  }
  const given = KINDS.filter((kind) => kind in payload);
  if (given.length !== 1) {
    throw new BadPayload(
      `a payload has exactly one of sleep, exec and module, this one has ${given.join(' and ') || 'none'}`,
    );
  }
  return given[0]!;
}

export function checkSleep(sleepMs: unknown): number {
  if (typeof sleepMs !== 'number' || !Number.isFinite(sleepMs) || sleepMs < 0) {
    throw new BadPayload(`sleep is a number of milliseconds from 0 up, not ${String(sleepMs)}`);
  }
  return sleepMs;
}

/** @throws BadPayload for what the system could only answer with an unclear error, or silently cut off. */
export function checkExec(payload: ExecPayload): void {
  const { exec, env, cwd, stdin, stdout, stderr } = payload;
  if (!Array.isArray(exec) || exec.length === 0 || exec[0] === '') {
    throw new BadPayload('exec is a list with at least a command');
  }
  exec.forEach((argument, index) => {
    checkString(argument, `exec[${index}]`);
  });
  if (env !== undefined) checkEnvironment(env);
  if (cwd !== undefined) {
    checkString(cwd, 'cwd');
    if (!isAbsolute(cwd)) throw new BadPayload(`cwd is an absolute path, not "${cwd}"`);
  }
  if (stdin !== undefined && typeof stdin !== 'string' && !(stdin instanceof Uint8Array)) {
    throw new BadPayload('stdin is a string or bytes');
  }
  for (const [field, path] of Object.entries({ stdout, stderr })) {
    if (path === undefined) continue;
    checkString(path, field);
    if (path === '' || path.endsWith('/'))
      throw new BadPayload(`${field} is the path of a file, not "${path}"`);
  }
}

export function checkEnvironment(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.includes('=') || name.includes('\0')) {
      throw new BadPayload(`env has an impossible name: ${JSON.stringify(name)}`);
    }
    checkString(value, `env.${name}`);
  }
}

/** The absolute path of a module payload's file. */
export function modulePath(payload: ModulePayload): string {
  const { module, cwd } = payload;
  checkString(module, 'module');
  if (payload.export !== undefined) checkString(payload.export, 'export');
  if (module.startsWith('file:')) {
    try {
      return fileURLToPath(module);
    } catch {
      throw new BadPayload(`module is not the URL of a file here: ${module}`);
    }
  }
  if (isAbsolute(module)) return module;
  if (cwd === undefined || !isAbsolute(cwd)) {
    throw new BadPayload(`module "${module}" is relative to nothing: give an absolute path or a file: URL`);
  }
  return resolve(cwd, module);
}

function checkString(value: unknown, field: string): void {
  if (typeof value !== 'string') throw new BadPayload(`${field} is a string, not ${typeof value}`);
  // The system ends a string at its first NUL: the command would silently run with something else.
  if (value.includes('\0')) throw new BadPayload(`${field} contains a NUL byte, which no command can take`);
}
