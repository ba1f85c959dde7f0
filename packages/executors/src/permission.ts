import { realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { ExecPayload, ModulePayload, Payload } from '@goshawk/core';
import { isWithin, realPathOf } from './paths.js';
import { modulePath } from './payload.js';

/** `false`: none; `true`: any; a list: only these. */
type Permission = boolean | readonly string[];

export interface Permissions {
  /** Commands, by absolute path. */
  readonly exec?: Permission;
  /** Modules, or folders of them, by absolute path. */
  readonly module?: Permission;
}

type Admission = { readonly payload: Payload } | { readonly refusal: string };

/**
 * The permissions of a worker. With a list of commands, a submitter chooses a command and its arguments, but no
 * shell, files or variables: with `LD_PRELOAD`, `PATH` or `NODE_OPTIONS` any command could run anything.
 */
export class Gate {
  readonly #exec: Permission;
  readonly #modules: readonly string[] | boolean;

  /**
   * @throws RangeError for a listed path that is not absolute
   * @throws Error for a listed module that does not exist
   */
  constructor({ exec = true, module = true }: Permissions) {
    for (const path of [exec, module].flatMap((listed) => (typeof listed === 'boolean' ? [] : listed))) {
      if (!isAbsolute(path)) throw new RangeError(`"${path}" is not an absolute path`);
    }
    this.#exec = exec;
    this.#modules = typeof module === 'boolean' ? module : module.map((path) => realpathSync(path));
  }

  /**
   * Returns the reason for a refusal, or the payload to run. For a listed module, the payload names the checked file.
   */
  admit(payload: Payload): Admission {
    if ('sleep' in payload) return { payload };
    if ('module' in payload) return this.#admitModule(payload);
    const refusal = this.#execRefusal(payload);
    return refusal === undefined ? { payload } : { refusal };
  }

  /** Returns the reason for refusing an admitted module whose file has changed; undefined if it has not. */
  changedSince(path: string): string | undefined {
    if (typeof this.#modules === 'boolean') return undefined;
    const real = realPathOf(path);
    return real === path ? undefined : `${path} was moved or changed while the task waited`;
  }

  #execRefusal({ exec, shell, env, stdout, stderr, image }: ExecPayload): string | undefined {
    if (this.#exec === true) return undefined;
    if (this.#exec === false) return 'this worker does not run exec tasks';
    const listed = this.#exec.join(', ');
    if (shell === true || !this.#exec.includes(exec[0] as string)) return `this worker runs only ${listed}`;
    if (image !== undefined) return 'this worker runs only listed commands, and those not in images';
    if (env !== undefined && Object.keys(env).length > 0) {
      return 'this worker runs only listed commands, without environment variables from the submitter (env)';
    }
    if (stdout !== undefined || stderr !== undefined) {
      return 'this worker runs only listed commands, without output files from the submitter (stdout, stderr)';
    }
    return undefined;
  }

  #admitModule(payload: ModulePayload): Admission {
    if (this.#modules === true) return { payload };
    if (this.#modules === false) return { refusal: 'this worker does not run module tasks' };
    const path = modulePath(payload);
    // Compare real paths, so that neither `..` nor a link escapes a listed folder.
    const real = realPathOf(path);
    if (real === undefined)
      return { refusal: `this worker runs only listed modules, and ${path} does not exist` };
    const isListed = this.#modules.some((listed) => isWithin(real, listed));
    if (isListed) return { payload: { ...payload, module: real } };
    return { refusal: `this worker runs only modules in ${this.#modules.join(', ')}` };
  }
}
