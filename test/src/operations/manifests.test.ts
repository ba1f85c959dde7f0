import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, parse as parseYaml } from 'yaml';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface Service {
  readonly image?: string;
  readonly pids_limit?: number;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly network_mode?: string;
  readonly pid?: string;
  readonly ports?: readonly string[];
  readonly deploy?: { readonly resources: { readonly limits: { readonly pids?: number } } };
}

const { services } = parseYaml(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: Readonly<Record<string, Service>>;
};

describe.each(Object.entries(services))('the Compose service %s', (_, service) => {
  it('has a limit on processes, and no access to the host', () => {
    expect(service.deploy?.resources.limits.pids ?? service.pids_limit).toBeGreaterThan(0);
    expect(service.privileged ?? false).toBe(false);
    expect(service.pid).toBeUndefined();
    expect(service.network_mode).not.toBe('host');
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  if (service.cap_drop !== undefined)
    it('has a read-only root and no privileges', () => {
      expect(service.read_only).toBe(true);
      expect(service.cap_drop).toEqual(['ALL']);
      expect(service.security_opt).toContain('no-new-privileges:true');
    });
});

it('Compose services of our image have no privileges', () => {
  for (const [name, { image, cap_drop }] of Object.entries(services))
    if (image?.includes('goshawk')) expect([name, cap_drop]).toEqual([name, ['ALL']]);
});

interface Container {
  readonly name: string;
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[] };
  };
}

interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly serviceAccountName?: string;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean;
    readonly seccompProfile?: { readonly type?: string };
  };
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly template?: { readonly spec: PodSpec } };
}

/** Pods of workloads in the files of these folders. */
function podsIn(...folders: string[]): [string, PodSpec][] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.yaml'))
      .flatMap((file) => parseAllDocuments(readFileSync(join(ROOT, folder, file), 'utf8')))
      .map((document) => document.toJS() as Manifest | null)
      .flatMap((manifest): [string, PodSpec][] => {
        const pod = manifest?.spec?.template?.spec;
        return pod?.containers === undefined || pod.securityContext === undefined
          ? []
          : [[`${manifest!.kind} ${manifest!.metadata.name}`, pod]];
      }),
  );
}

const PODS = ['k8s/base', 'k8s/components', 'k8s/pools'];

describe.each(podsIn(...PODS))('the Kubernetes pods of %s', (_, pod) => {
  it('run as an ordinary user, with seccomp, and without access to the node', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect([pod.hostNetwork ?? false, pod.hostPID ?? false]).toEqual([false, false]);
  });

  it('have containers without privileges, and a read-only root', () => {
    for (const { securityContext } of [...pod.containers, ...(pod.initContainers ?? [])])
      expect(securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
  });

  it('have a Kubernetes token only with a separate account', () => {
    if (pod.automountServiceAccountToken !== false) expect(pod.serviceAccountName).toBeDefined();
  });
});

it('Kubernetes workloads use the security settings of the shared pod, or separate ones', () => {
  for (const folder of ['base/central', 'base/scheduler', 'base/worker', 'pools/elastic'])
    expect(readFileSync(join(ROOT, 'k8s', folder, 'kustomization.yaml'), 'utf8')).toContain(
      '../../components/pod',
    );
  const own = podsIn(...PODS).map(([name]) => name);
  expect(own).toEqual(
    expect.arrayContaining([
      'StatefulSet any',
      'Deployment goshawk-dashboard',
      'Deployment goshawk-node-drain',
      'Deployment goshawk-autoscale',
    ]),
  );
});
