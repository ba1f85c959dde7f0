import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecPayload, ModulePayload } from '@goshawk/core';

/** A payload that matches its schema but cannot be run; the message names the field. */
export class BadPayload extends Error {
  override readonly name = 'BadPayload';
}

export function checkExec({ exec, cwd }: ExecPayload): void {
  if (!exec[0]) throw new BadPayload('exec must be a list with at least a command');
  if (cwd !== undefined && !isAbsolute(cwd))
    throw new BadPayload(`cwd must be an absolute path, not "${cwd}"`);
}

/** Returns the absolute path of a module payload's file. */
export function modulePath({ module, cwd }: ModulePayload): string {
  if (module.startsWith('file:')) {
    try {
      return fileURLToPath(module);
    } catch {
      throw new BadPayload(`module is not a URL of a local file: ${module}`);
    }
  }
  if (isAbsolute(module)) return module;
  if (cwd === undefined || !isAbsolute(cwd)) {
    throw new BadPayload(`module "${module}" has no base folder: use an absolute path or a file: URL`);
  }
  return resolve(cwd, module);
}
