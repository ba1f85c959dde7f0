import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { cpus } from 'node:os';
import { promisify } from 'node:util';
import { csvRow } from '@goshawk/core';
import type { TaskLimits } from './cgroup.js';
import { type FailedOutcome, failed, type RunOrder } from './contract.js';
import { isWithin, programOf, realPathOf } from './paths.js';
import { limitIn } from './proc-limits.js';
import { folderProblem } from './spawn-failure.js';
import type { SpawnOrder } from './spawner-protocol.js';

const run = promisify(execFile);

/** Time limits (ms) of the client. */
const INFO_MS = 3_000;
const PODMAN_INFO_MS = 30_000;
const INSPECT_MS = 30_000;
const PULL_MS = 30 * 60_000;
/** Docker refuses memory limits of fewer bytes. */
const MEMORY_MIN = 6 * 1024 * 1024;
const DOCKER_SOCKET = '/var/run/docker.sock';
/** Variables that Docker's client obeys, so the task's values must not be in its environment. */
const DOCKER_VARIABLES =
  /^(PATH|HOME|TMPDIR|GO(DEBUG|TRACEBACK|GC|MEMLIMIT|MAXPROCS)|(LD|BUILDKIT|XDG)_.*|DOCKER_(HOST|CONFIG|CONTEXT|CERT_PATH|TLS.*|API_VERSION|CONTENT_TRUST.*|DEFAULT_PLATFORM|CUSTOM_HEADERS|HIDE_.*|CLI_.*))$/i;
/** Variables that Podman's client obeys. It has no daemon: the client creates the container. */
const PODMAN_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|GO(DEBUG|TRACEBACK|GC|MEMLIMIT|MAXPROCS)|REGISTRY_AUTH_FILE|NOTIFY_SOCKET|((HTTPS?|NO|ALL|FTP)_PROXY)|(LD|XDG|DOCKER|CONTAINERS?|_CONTAINERS|STORAGE|PODMAN|BUILDAH|CONMON|CRUN|RUNC|CNI|NETAVARK|OCI|_OCI|LISTEN|DBUS|SSL)_.*)$/i;
/** Variables that a client obeys if it connects by TCP. */
const PROXY = /^(HTTPS?|NO|ALL)_PROXY$/i;
/** Settings of the client that the worker's environment may contain. */
const CLIENT_SETTINGS = [
  'DOCKER_HOST',
  'DOCKER_CONFIG',
  'DOCKER_CONTEXT',
  'DOCKER_CERT_PATH',
  'DOCKER_TLS_VERIFY',
  'CONTAINERS_CONF',
  'CONTAINERS_STORAGE_CONF',
  'STORAGE_DRIVER',
  'XDG_RUNTIME_DIR',
];
/** Folders of the image that a mount would hide. */
const IMAGE_FOLDERS = ['/bin', '/dev', '/etc', '/lib', '/lib64', '/proc', '/run', '/sbin', '/sys', '/usr'];

/**
 * Runs commands in OCI images with Docker or Podman. An image is pulled once; the container has the account of the
 * worker, the network of the machine, the task's variables, and its working folder under the same path.
 */
export class Containers {
  readonly #program: string;
  /** `uid:gid` of the tasks, as the engine numbers them. */
  readonly #account: string;
  readonly #pulls = new Map<string, Promise<FailedOutcome | undefined>>();

  /** The container engine that it uses. */
  readonly engine: 'docker' | 'podman';

  private constructor(engine: Containers['engine'], program: string, isRootless: boolean) {
    this.engine = engine;
    this.#program = program;
    // Root of a rootless engine is the account of this process.
    this.#account = isRootless ? '0:0' : `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  }

  /** Returns undefined if this process can use neither. */
  static async find(): Promise<Containers | undefined> {
    return (await Containers.#findDocker()) ?? (await Containers.findPodman());
  }

  /** Podman has no daemon that could still be starting. */
  static async findPodman(): Promise<Containers | undefined> {
    const podman = programOf('podman');
    if (podman === undefined) return undefined;
    try {
      const options = { timeout: PODMAN_INFO_MS };
      const { stdout } = await run(podman, ['info', '--format', '{{.Host.Security.Rootless}}'], options);
      return new Containers('podman', podman, stdout.trim() === 'true');
    } catch {
      return undefined;
    }
  }

  static async #findDocker(): Promise<Containers | undefined> {
    const docker = programOf('docker');
    const isThere = process.env.DOCKER_HOST !== undefined || mayConnect(DOCKER_SOCKET);
    if (docker === undefined || !isThere) return undefined;
    try {
      const { stdout } = await run(docker, ['info', '--format', '{{.SecurityOptions}}'], {
        timeout: INFO_MS,
      });
      return new Containers('docker', docker, stdout.includes('rootless'));
    } catch (error) {
      // An engine that accepts connections but does not answer yet is starting.
      return (error as { killed?: boolean }).killed === true
        ? new Containers('docker', docker, false)
        : undefined;
    }
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

  /** Checks the image again before its next use, because it may have been removed from this machine. */
  invalidate(image: string): void {
    this.#pulls.delete(image);
  }

  async #pull(image: string): Promise<FailedOutcome | undefined> {
    try {
      await runInBackground(this.#program, ['image', 'inspect', '--format', '{{.Id}}', image], INSPECT_MS);
      return undefined;
    } catch {
      // This machine does not have it yet.
    }
    try {
      await runInBackground(this.#program, ['pull', '--quiet', image], PULL_MS);
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
    const isObeyed = this.engine === 'docker' ? isOfClient : (name: string) => PODMAN_VARIABLES.test(name);
    const byValue = Object.entries(env).filter(([name]) => isObeyed(name));
    const byName = Object.entries(env).filter(([name]) => !isObeyed(name));
    const settings = CLIENT_SETTINGS.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return {
      ...order,
      command: this.#program,
      args: [
        'run',
        ...['--init', '--pull', 'never', '--network', 'host', '--user', this.#account],
        ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ...(this.engine === 'podman' ? ['--http-proxy=false', ...ownUlimits()] : []),
        ...(hasStdin ? ['--interactive'] : []),
        // Output arrives through the client; a log would grow without limit on the engine's disk.
        ...['--log-driver', 'none'],
        ...limitsOf(limits),
        // Docker reads the fields of a mount as a row of CSV.
        ...mounts.flatMap((path) => ['--mount', csvRow(['type=bind', `source=${path}`, `target=${path}`])]),
        ...(cwd === undefined ? [] : ['--workdir', cwd]),
        ...byName.flatMap(([name]) => ['--env', name]),
        ...byValue.flatMap(([name, value]) => ['--env', `${name}=${value}`]),
        ...['--entrypoint', command, image, ...args],
      ],
      env: Object.fromEntries([...byName, ...settings]),
      container: { program: this.#program, settings: Object.fromEntries(settings), image, command },
    };
  }
}

/** Limits as Docker accepts them: at most the CPUs of the machine, and at least 6 MiB. */
function limitsOf({ cpu, memory }: TaskLimits = {}): string[] {
  const bytes = memory === undefined ? undefined : `${Math.max(MEMORY_MIN, Math.ceil(memory))}b`;
  const share = cpu === undefined ? undefined : Math.max(0.01, Math.ceil(cpu * 1_000) / 1_000);
  return [
    ...(share === undefined ? [] : ['--cpus', `${Math.min(cpus().length, share)}`]),
    ...(bytes === undefined ? [] : ['--memory', bytes, '--memory-swap', bytes]),
  ];
}

/**
 * Returns options with limits that Podman may set, because its defaults may exceed the hard limits of this process.
 * Podman refuses a limit of processes above that of files.
 */
function ownUlimits(): string[] {
  const text = readFileSync('/proc/self/limits', 'latin1');
  const hardOf = (name: string) => Number(limitIn(text, name)?.hard);
  const files = hardOf('Max open files');
  const processes = Math.min(hardOf('Max processes'), files);
  const limits = { nofile: files, nproc: processes };
  return Object.entries(limits).flatMap(([flag, hard]) =>
    hard > 0 ? ['--ulimit', `${flag}=${hard}:${hard}`] : [],
  );
}

function isOfClient(name: string): boolean {
  return (
    DOCKER_VARIABLES.test(name) || (PROXY.test(name) && /^(tcp|https?):/.test(process.env.DOCKER_HOST ?? ''))
  );
}

/** Runs the client in a way that lets this process exit, even during a pull. */
function runInBackground(program: string, args: string[], timeout: number): Promise<unknown> {
  const running = run(program, args);
  const { child } = running;
  child.unref();
  for (const pipe of [child.stdout, child.stderr]) (pipe as Socket | null)?.unref();
  // The time limit of `execFile` would keep this process alive.
  const timer = setTimeout(() => child.kill(), timeout).unref();
  return running.finally(() => clearTimeout(timer));
}

/** Folders to mount: the working folder, and the folder of inputs and the result. */
function mountsOf(cwd: string | undefined, exchanged: string | undefined): string[] | FailedOutcome {
  const mounts = exchanged === undefined ? [] : [exchanged];
  if (cwd === undefined || cwd === '/') return mounts;
  const problem = folderProblem(cwd);
  if (problem !== undefined) return failed(...problem);
  const real = realPathOf(cwd) ?? cwd;
  if (IMAGE_FOLDERS.some((path) => isWithin(real, path)))
    return failed('not-allowed', `the folder "${cwd}" would hide the image's own; choose another with --cwd`);
  return [cwd, ...mounts];
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
