import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, parse as parseYaml } from 'yaml';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** An image with a digest, or a tag that begins with a number. */
const VERSIONED = /(@sha256:[0-9a-f]{64}|:v?\d[\w.-]*)$/;

interface Service {
  readonly image?: string;
  readonly pids_limit?: number;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly network_mode?: string;
  readonly networks?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
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

it('tasks of Compose share a network only with services that need it', () => {
  const networksOf = ({ networks, network_mode }: Service) =>
    network_mode === undefined ? (networks ?? ['default']) : [network_mode];
  const inNetwork = (network: string) =>
    Object.keys(services).filter((name) => networksOf(services[name]!).includes(network));
  // Schedulers cannot have two networks: they advertise their only address. PostgreSQL has a password.
  const needed = [
    'central',
    'scheduler',
    'worker-network',
    'dashboard',
    'client',
    'bench',
    'postgres',
    'journal',
  ];
  expect(inNetwork('default')).toEqual([...needed, 'prometheus']);
  expect(inNetwork('monitoring')).toEqual(['prometheus', 'grafana']);
  expect(networksOf(services.keys!)).toEqual(['none']);
});

it('images of other projects in Compose have a version or a digest', () => {
  for (const [name, { image = '' }] of Object.entries(services)) {
    const [, given = image] = /^\$\{\w+:-(.*)\}$/.exec(image) ?? [];
    if (given !== 'goshawk') expect([name, given]).toEqual([name, expect.stringMatching(VERSIONED)]);
  }
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
  readonly volumes?: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName: string };
    readonly emptyDir?: { readonly sizeLimit?: string };
  }[];
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
  readonly spec?: {
    readonly template?: { readonly spec: PodSpec };
    readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly policyTypes?: readonly string[];
    readonly egress?: readonly { readonly to?: readonly object[]; readonly ports?: readonly object[] }[];
  };
  readonly images?: readonly {
    readonly name: string;
    readonly newTag?: string;
    readonly digest?: string;
  }[];
}

function manifestsIn(...folders: string[]): Manifest[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.yaml'))
      .flatMap((file) => parseAllDocuments(readFileSync(join(ROOT, folder, file), 'utf8')))
      .flatMap((document) => (document.toJS() as Manifest | null) ?? []),
  );
}

/** Pods of workloads in the files of these folders. */
function podsIn(...folders: string[]): [string, PodSpec][] {
  return manifestsIn(...folders).flatMap((manifest): [string, PodSpec][] => {
    const pod = manifest.spec?.template?.spec;
    return pod?.containers === undefined || pod.securityContext === undefined
      ? []
      : [[`${manifest.kind} ${manifest.metadata.name}`, pod]];
  });
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

it('Kubernetes pods that drain nodes and set sizes have keys that permit nothing else', () => {
  for (const [workload, key] of [
    ['Deployment goshawk-node-drain', 'goshawk-node-drain-key'],
    ['Deployment goshawk-autoscale', 'goshawk-autoscale-key'],
  ]) {
    const [, { volumes = [] }] = podsIn(...PODS).find(([name]) => name === workload)!;
    expect(volumes.flatMap(({ secret }) => secret?.secretName ?? [])).toEqual([
      key,
      'goshawk-http-token-hash',
    ]);
  }
});

it('Kubernetes pods have only the hash of the token of the metrics', () => {
  const pods = podsIn(...PODS);
  const secretsOf = (volumes: (typeof pods)[number][1]['volumes'] = []) =>
    volumes.flatMap(({ secret }) => secret?.secretName ?? []);
  for (const [name, { volumes }] of pods)
    expect(secretsOf(volumes), name).not.toContain('goshawk-http-token');
  expect(
    pods.filter(([, { volumes }]) => secretsOf(volumes).includes('goshawk-http-token-hash')),
  ).not.toEqual([]);
});

it('of the services of Compose, only Prometheus has the token of the metrics, and others its hash', () => {
  const script = services.keys!.command![0]!;
  const given = [...script.matchAll(/put \d+ (\/keys\/\S*http\.token) ([\w$/]+)/g)].map(
    ([, from, to]) => `${from} ${to}`,
  );
  expect(given).toEqual([
    '/keys/hashed/http.token /for/$$role',
    '/keys/http.token /for/monitoring',
    '/keys/hashed/http.token /for/dashboard',
  ]);
  const readers = Object.entries(services).filter(([, { volumes = [] }]) =>
    volumes.some((volume) => volume.startsWith('monitoring-token:')),
  );
  expect(readers.map(([name]) => name)).toEqual(['keys', 'prometheus']);
});

it('Kubernetes pods have separate, limited /tmp folders', () => {
  for (const [name, { volumes = [] }] of podsIn(...PODS)) {
    const { emptyDir } = volumes.find((volume) => volume.name === 'tmp')!;
    expect([name, emptyDir?.sizeLimit]).toEqual([name, expect.stringMatching(/^\d+[MG]i$/)]);
  }
});

it('Kubernetes network policies limit the egress of each role to peers, and elsewhere to ports', () => {
  const policies = manifestsIn('k8s/base', ...PODS).filter(({ kind }) => kind === 'NetworkPolicy');
  const roleOf = ({ spec }: Manifest) => spec!.podSelector!.matchLabels['app.kubernetes.io/component'];
  const limited = policies.filter(({ spec }) => spec!.policyTypes!.includes('Egress')).map(roleOf);
  for (const role of ['central', 'scheduler', 'worker', 'client']) expect(limited).toContain(role);
  const isClosed = ({ metadata, spec }: Manifest) =>
    metadata.name === 'goshawk-nothing-else' && spec!.egress === undefined;
  expect(policies.some(isClosed)).toBe(true);
  const open = policies.flatMap(({ metadata, spec }) =>
    (spec!.egress ?? []).flatMap(({ to, ports = [] }) => {
      expect([metadata.name, ports.length]).not.toEqual([metadata.name, 0]);
      return to === undefined ? metadata.name : [];
    }),
  );
  // The addresses of the Kubernetes API and of PostgreSQL differ between clusters.
  expect([...new Set(open)].sort()).toEqual(['goshawk-autoscale', 'goshawk-journal', 'goshawk-node-drain']);
});

it('Kubernetes overlays use a version or a digest of the image', () => {
  // `local` uses an image that was built on the node.
  const overlays = readdirSync(join(ROOT, 'k8s/overlays')).filter((name) => name !== 'local');
  const folders = overlays.map((name) => `k8s/overlays/${name}`);
  const images = manifestsIn(...folders, 'k8s/pools').flatMap((manifest) => manifest.images ?? []);
  expect(images).not.toEqual([]);
  for (const { newTag, digest } of images)
    expect(digest ?? newTag).toMatch(/^(sha256:[0-9a-f]{64}|\d+\.\d+\.\d+)$/);
});
