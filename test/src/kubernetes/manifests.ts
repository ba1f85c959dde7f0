import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

export const ROOT = resolve(import.meta.dirname, '../../..');
export const K8S = join(ROOT, 'k8s');

/** A Kubernetes object, with the fields that these tests read. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: Spec;
  readonly data?: Readonly<Record<string, string>>;
}

interface Spec {
  readonly selector?: Selector & Readonly<Record<string, unknown>>;
  readonly podSelector?: Selector;
  readonly template?: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: PodSpec;
  };
  readonly serviceName?: string;
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  readonly ports?: readonly ServicePort[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
  readonly policyTypes?: readonly string[];
  readonly podMetricsEndpoints?: readonly { readonly port: string }[];
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

interface ServicePort {
  readonly port: number;
  readonly targetPort?: number | string;
}

/** A rule of a NetworkPolicy. */
export interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number; readonly protocol?: string }[];
}

interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string };
}

export interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly priorityClassName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean;
    readonly runAsUser?: number;
    readonly fsGroup?: number;
    readonly seccompProfile?: { readonly type: string };
  };
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
}

interface Volume {
  readonly name: string;
  readonly hostPath?: unknown;
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly ports?: readonly {
    readonly name?: string;
    readonly containerPort: number;
    readonly hostPort?: number;
  }[];
  readonly env?: readonly EnvironmentVariable[];
  readonly envFrom?: readonly { readonly configMapRef?: { readonly name: string } }[];
  readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean;
    readonly privileged?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: unknown;
}

type Amounts = Readonly<Record<string, string | number>>;

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string | number };
}

/** A set of pods that a controller keeps running. */
export interface Workload extends Manifest {
  readonly spec: Spec & { readonly template: NonNullable<Spec['template']>; readonly selector: Selector };
}

export function overlayNames(): string[] {
  return readdirSync(join(K8S, 'overlays')).sort();
}

/** Reason why `kubectl kustomize` cannot run here; undefined if it can. */
export function whyNoKustomize(): string | undefined {
  try {
    const output = execFileSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
    const { kustomizeVersion } = JSON.parse(output) as { kustomizeVersion?: string };
    // Kustomize 3.7 introduced components, and kubectl 1.21 was the first version to include it.
    return kustomizeVersion === undefined ? 'this kubectl is older than 1.21' : undefined;
  } catch {
    return 'there is no kubectl';
  }
}

/** Returns what `kubectl apply -k` would send, in its order. @throws when it does not build */
export function kustomize(folder: string): Manifest[] {
  const text = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8', cwd: K8S });
  return parseManifests(text);
}

export function readManifests(file: string): Manifest[] {
  return parseManifests(readFileSync(join(K8S, file), 'utf8'));
}

/** By the rules of YAML 1.1, as kubectl reads: 0440 is octal. */
function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as Manifest);
}

export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests.filter((manifest): manifest is Workload => manifest.spec?.template !== undefined);
}

/** Matches labels as Kubernetes does. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const hasAll = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    hasAll &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`these tests do not know the operator ${operator}`);
      return values.includes(labels[key] ?? '');
    })
  );
}
