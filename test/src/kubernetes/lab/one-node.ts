import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ROOT } from '../manifests.js';
import type { Transcript } from './transcript.js';

const TOOLS = resolve(ROOT, '../shared/tools');
const BASE_IMAGE = 'goshawk-base:24';
const BINARIES = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet'];

/** Returns the folder in which Kubernetes is built. */
function buildFolder(): string {
  return resolve(process.env.GOSHAWK_KUBERNETES || join(tmpdir(), 'goshawk-kubernetes'));
}

/** Reason why a one-node cluster cannot run here; undefined if it can. */
export function whyNoLab(): string | undefined {
  if (!existsSync(join(TOOLS, 'kubernetes/up.sh'))) {
    return `there is no ${join(TOOLS, 'kubernetes/up.sh')}, which starts Kubernetes on one node`;
  }
  return process.getuid?.() === 0 ? undefined : 'a kubelet needs root';
}

/** A real one-node cluster on this machine's Docker. */
export class OneNode {
  readonly #transcript: Transcript;
  readonly #folder = buildFolder();

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
  }

  get kubeconfig(): string {
    return join(this.#folder, 'run/kubeconfig');
  }

  readonly api = 'https://127.0.0.1:6443';

  /** The certificate is self-signed. */
  get certificate(): string {
    return join(this.#folder, 'run/certs/apiserver.crt');
  }

  /** @returns a file of the administrator's token, in this folder */
  writeToken(folder: string): string {
    const [token = ''] = readFileSync(join(this.#folder, 'run/tokens.csv'), 'utf8').split(',');
    const file = join(folder, 'token');
    writeFileSync(file, token, { mode: 0o600 });
    return file;
  }

  /** Builds missing binaries and the image of this checkout, and starts the cluster. */
  async start(): Promise<void> {
    if (!BINARIES.every((name) => existsSync(join(this.#folder, 'bin', name)))) {
      await this.#tool('kubernetes/build.sh', [this.#folder], {});
    }
    const base = await this.#baseImage();
    const build = ['build', '-q', '-t', 'goshawk:latest', '--build-arg', `NODE_IMAGE=${base}`, ROOT];
    await this.#succeed('docker', build, 'docker build -t goshawk:latest .', () => '');
    await this.#tool('kubernetes/up.sh', [this.#folder], { PAUSE_BASE: base });
  }

  /** The kubelet's folder is itself a mount, which the script leaves in place. */
  async stop(): Promise<void> {
    await this.#transcript.run('bash', [join(TOOLS, 'kubernetes/down.sh'), this.#folder], { shown: '' });
    const folder = join(this.#folder, 'run');
    if (!existsSync(folder)) return;
    await this.#transcript.run('umount', ['--recursive', join(folder, 'kubelet')], { shown: '' });
    rmSync(folder, { recursive: true, force: true });
  }

  async #baseImage(): Promise<string> {
    const { NODE_IMAGE } = process.env;
    if (NODE_IMAGE) return NODE_IMAGE;
    const { exitCode } = await this.#transcript.run('docker', ['image', 'inspect', BASE_IMAGE], {
      shown: '',
    });
    if (exitCode !== 0) await this.#tool('containers/base-image.sh', [BASE_IMAGE, '24'], {});
    return BASE_IMAGE;
  }

  async #tool(script: string, args: readonly string[], environment: Record<string, string>): Promise<void> {
    const shown = `${script.replace(/^.*\//, '')} ${args[0]}`;
    await this.#succeed('bash', [join(TOOLS, script), ...args], shown, lastLines, environment);
  }

  async #succeed(
    command: string,
    args: readonly string[],
    shown: string,
    output: (text: string) => string,
    environment: Record<string, string> = {},
  ): Promise<void> {
    const { exitCode } = await this.#transcript.run(command, args, { shown, output, environment });
    if (exitCode !== 0) throw new Error(`${shown} failed`);
  }
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-2).join('\n');
}
