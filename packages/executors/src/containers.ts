import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { type FailedOutcome, failed, type RunOrder } from './contract.js';
import { programOf, realPathOf } from './paths.js';
import type { SpawnOrder } from './spawner-protocol.js';

const run = promisify(execFile);

const DOCKER_SOCKET = '/var/run/docker.sock';
/** Variables that the engine's client obeys, so the task's values must not be in its environment. */
const OF_CLIENT = /^(PATH|HOME|TMPDIR|GO[A-Z]+|(LD|DOCKER|BUILDKIT|XDG)_.*|(HTTPS?|NO|ALL)_PROXY)$/i;
/** Settings of the client that the worker's environment may hold. */
const CLIENT_SETTINGS = [
  'DOCKER_HOST',
  'DOCKER_CONFIG',
  'DOCKER_CONTEXT',
  'DOCKER_CERT_PATH',
  'DOCKER_TLS_VERIFY',
  'XDG_RUNTIME_DIR',
];
/** Folders that would hide the image's own. */
const OF_IMAGE = ['/bin', '/dev', '/etc', '/lib', '/lib64', '/proc', '/run', '/sbin', '/sys', '/usr'];

/**
 * Runs commands in OCI images with Docker. An image is pulled once; the container has the
 * account of the worker, the network of the machine, the task's variables, and its working folder under the same path.
 */
export class Containers {
  readonly #program: string;
  readonly #pulls = new Map<string, Promise<FailedOutcome | undefined>>();

  private constructor(program: string) {
    this.#program = program;
  }

  /** Returns undefined if this process cannot use Docker. */
  static find(): Containers | undefined {
    const docker = programOf('docker');
    const isThere = process.env.DOCKER_HOST !== undefined || mayConnect(DOCKER_SOCKET);
    return docker !== undefined && isThere ? new Containers(docker) : undefined;
  }

  /** Pulls the image unless this machine has it. Concurrent calls share one pull. @returns why it is unavailable */
  prepare(image: string): Promise<FailedOutcome | undefined> {
    let pull = this.#pulls.get(image);
    if (pull === undefined) {
      pull = this.#pull(image);
      this.#pulls.set(image, pull);
      void pull.then((problem) => {
        if (problem !== undefined) this.#pulls.delete(image);
      });
    }
    return pull;
  }

  /** The image may have been removed from this machine. */
  forget(image: string): void {
    this.#pulls.delete(image);
  }

  async #pull(image: string): Promise<FailedOutcome | undefined> {
    try {
      await run(this.#program, ['image', 'inspect', '--format', '{{.Id}}', image]);
      return undefined;
    } catch {
      // This machine does not have it yet.
    }
    try {
      await run(this.#program, ['pull', '--quiet', image]);
      return undefined;
    } catch (error) {
      const { stderr, message } = error as { stderr?: string; message: string };
      return failed('image-unavailable', `cannot pull the image "${image}": ${lastLine(stderr) || message}`);
    }
  }

  /** Returns the order that runs the command in a container, or the reason for a refusal. */
  contain(
    order: SpawnOrder,
    image: string,
    { folder }: Pick<RunOrder, 'folder'>,
  ): SpawnOrder | FailedOutcome {
    const { command, args, env, cwd, limits, hasStdin } = order;
    const mounts = mountsOf(cwd, folder);
    if ('kind' in mounts) return mounts;
    const byValue = Object.entries(env).filter(([name]) => OF_CLIENT.test(name));
    const byName = Object.entries(env).filter(([name]) => !OF_CLIENT.test(name));
    const settings = CLIENT_SETTINGS.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    const account = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
    return {
      ...order,
      command: this.#program,
      args: [
        'run',
        ...['--init', '--pull', 'never', '--network', 'host', '--user', account],
        ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ...(hasStdin ? ['--interactive'] : []),
        ...(limits?.cpu === undefined ? [] : ['--cpus', `${limits.cpu}`]),
        ...(limits?.memory === undefined
          ? []
          : ['--memory', `${limits.memory}b`, '--memory-swap', `${limits.memory}b`]),
        ...mounts.flatMap((path) => ['--mount', csv('type=bind', `source=${path}`, `target=${path}`)]),
        ...(cwd === undefined ? [] : ['--workdir', cwd]),
        ...byName.flatMap(([name]) => ['--env', name]),
        ...byValue.flatMap(([name, value]) => ['--env', `${name}=${value}`]),
        ...['--entrypoint', command, image, ...args],
      ],
      env: Object.fromEntries([...byName, ...settings]),
      container: { program: this.#program, image, command },
    };
  }
}

/** Folders to mount: the working folder, and the folder of inputs and the result. */
function mountsOf(cwd: string | undefined, exchanged: string | undefined): string[] | FailedOutcome {
  const mounts = exchanged === undefined ? [] : [exchanged];
  if (cwd === undefined || cwd === '/') return mounts;
  const real = realPathOf(cwd);
  if (real === undefined || !statSync(real).isDirectory())
    return failed(
      'no-such-folder',
      `the folder "${cwd}" does not exist on this worker; choose another with --cwd (cwd in a job file)`,
    );
  if (OF_IMAGE.some((path) => real === path || real.startsWith(`${path}/`)))
    return failed('not-allowed', `the folder "${cwd}" would hide the image's own; choose another with --cwd`);
  return [cwd, ...mounts];
}

/** Docker reads the fields of a mount as a line of CSV. */
function csv(...fields: readonly string[]): string {
  return fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',');
}

function lastLine(text = ''): string {
  return text.trim().split('\n').at(-1) ?? '';
}

function mayConnect(socket: string): boolean {
  try {
    accessSync(socket, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
