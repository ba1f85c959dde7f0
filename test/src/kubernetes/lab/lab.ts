import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { K8S, ROOT } from '../manifests.js';
import type { CommandOutput, RunOptions, Transcript } from './transcript.js';

export const NAMESPACE = 'goshawk';
export const NODE = 'node1';
/** The overlay for this lab: one node, an old Kubernetes. */
export const OVERLAY = 'test/src/kubernetes/lab/overlay';
export const SCHEDULERS = 2;

const POLL_MS = 300;
const GOSHAWK = join(ROOT, 'packages/cli/bin/goshawk.js');

export type Role = 'central' | 'scheduler' | 'worker';

interface Pod {
  readonly name: string;
  readonly isReady: boolean;
  readonly isEnding: boolean;
}

/** A cluster for experiments, with helper functions. */
export class Lab {
  readonly transcript: Transcript;
  /** The folder of keys and volumes. */
  readonly folder = mkdtempSync(join(tmpdir(), 'goshawk-lab-'));
  readonly #kubeconfig: string;
  #url = '';

  constructor(transcript: Transcript, kubeconfig: string) {
    this.transcript = transcript;
    this.#kubeconfig = kubeconfig;
  }

  get keys(): string {
    return join(this.folder, 'keys');
  }

  /** Folders that stand in for the disks of a cluster. */
  makeVolume(name: string): string {
    const folder = join(this.folder, 'volumes', name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Finds central, which listens on a port of the node. */
  async findCentral(): Promise<void> {
    const { stdout } = await this.kubectl(
      ['get', 'node', NODE, '-o', 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}'],
      { shown: '' },
    );
    this.#url = `tcp://${stdout}:7070`;
  }

  /** @throws Error if it fails */
  async kubectl(args: readonly string[], options: RunOptions = {}): Promise<CommandOutput> {
    const output = await this.tryKubectl(args, options);
    if (output.exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${output.stderr.trim()}`);
    return output;
  }

  tryKubectl(args: readonly string[], options: RunOptions = {}): Promise<CommandOutput> {
    const shown = options.shown ?? `kubectl ${args.join(' ').replaceAll(`${K8S}/`, 'k8s/')}`;
    const environment = { KUBECONFIG: this.#kubeconfig };
    return this.transcript.run('kubectl', args, { ...options, shown, environment });
  }

  /** The command of this checkout, as a client of the cluster. */
  goshawk(args: readonly string[], options: RunOptions = {}): Promise<CommandOutput> {
    const environment = { GOSHAWK_CLUSTER: this.#url, GOSHAWK_KEYS: this.keys };
    const shown =
      options.shown ?? `goshawk ${args.map((arg) => (/[ $]/.test(arg) ? `'${arg}'` : arg)).join(' ')}`;
    return this.transcript.run(process.execPath, [GOSHAWK, ...args], { ...options, shown, environment });
  }

  /** Returns the output of `goshawk … --json`. @throws when it fails */
  async ask<T>(args: readonly string[]): Promise<T> {
    const output = await this.goshawk([...args, '--json'], { shown: '' });
    if (output.exitCode !== 0) throw new Error(`goshawk ${args.join(' ')}: ${output.stderr.trim()}`);
    return JSON.parse(output.stdout) as T;
  }

  async pods(role: Role): Promise<Pod[]> {
    const selector = `app.kubernetes.io/component=${role}`;
    const { stdout } = await this.kubectl(['get', 'pods', '-l', selector, '-o', 'json'], { shown: '' });
    const { items } = JSON.parse(stdout) as { items: RawPod[] };
    return items.map(({ metadata, status }) => ({
      name: metadata.name,
      isReady: status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
      isEnding: metadata.deletionTimestamp !== undefined,
    }));
  }

  async onePod(role: Role): Promise<string> {
    const [pod] = (await this.pods(role)).filter(({ isEnding }) => !isEnding);
    if (pod === undefined) throw new Error(`there is no pod of a ${role}`);
    return pod.name;
  }

  /** Checks that every role has its pods and that they work. */
  async untilReady(): Promise<void> {
    const wanted = { central: 1, scheduler: SCHEDULERS, worker: 1 } as const;
    const from = performance.now();
    for (const [role, count] of Object.entries(wanted)) {
      await this.until(`${count} ready pod(s) of the role ${role}`, async () => {
        const pods = await this.pods(role as Role);
        return pods.length === count && pods.every(({ isReady, isEnding }) => isReady && !isEnding);
      });
    }
    this.transcript.say(`all pods are ready after ${((performance.now() - from) / 1_000).toFixed(1)} s`);
  }

  /** @throws Error if it does not become true in time */
  async until(what: string, isTrue: () => Promise<boolean>, patienceSeconds = 240): Promise<void> {
    const giveUpAt = performance.now() + patienceSeconds * 1_000;
    while (!(await isTrue())) {
      if (performance.now() > giveUpAt) throw new Error(`not within ${patienceSeconds} s: ${what}`);
      await pause(POLL_MS);
    }
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

interface RawPod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** @throws Error with the given message if the condition is false */
export function check(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Error(otherwise);
}
