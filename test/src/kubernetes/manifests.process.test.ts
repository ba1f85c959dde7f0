import { MESSAGE_TYPES, MESSAGES } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import {
  type Container,
  kustomize,
  type Manifest,
  overlayNames,
  type PodSpec,
  type Rule,
  readManifests,
  selects,
  type Workload,
  whyNoKustomize,
  workloadsOf,
} from './manifests.js';
import { unknownFields, wrongTypes } from './schemas.js';
import { settingsFrom } from './settings.js';

/** Commands whose key permits only what they need. */
const SEPARATE_KEYS: Readonly<Record<string, string>> = {
  'follow-nodes': 'node-drain',
  autoscale: 'autoscale',
};

const whyNot = whyNoKustomize();
const TARGETS =
  whyNot === undefined
    ? [...overlayNames().map((name) => `overlays/${name}`), 'pools/gpu', 'pools/elastic']
    : [];
const built = new Map(TARGETS.map((target) => [target, kustomize(target)]));
const overlays = [...built].filter(([target]) => target.startsWith('overlays/'));
const examples = readManifests('examples/client.yaml');
const everything = [...[...built.values()].flat(), ...examples, ...readManifests('namespace.yaml')];

const skipped = `(skipped: ${whyNot})`;
const title = whyNot === undefined ? 'manifests' : `manifests ${skipped}`;

describe.skipIf(whyNot !== undefined)(title, () => {
  it.each(TARGETS)('%s has only fields of the right type', async (target) => {
    expect(await wrongTypes(built.get(target)!)).toEqual([]);
  });

  it('the examples have only fields of the right type', async () => {
    expect(await wrongTypes(examples)).toEqual([]);
  });

  it('have no unknown field', async () => {
    expect(await unknownFields(everything)).toEqual([]);
  });

  it('are distinguished from invalid ones by these checks', async () => {
    const service = everything.find(({ kind }) => kind === 'Service')!;
    const mistyped = { ...service, spec: { ...service.spec, ports: [{ port: 'seventy' }] } };
    const misspelt = { ...service, spec: { ...service.spec, publishNotReadyAdresses: true } };
    expect(await wrongTypes([mistyped as unknown as Manifest])).toEqual([expect.stringMatching(/port/)]);
    expect(await unknownFields([misspelt as unknown as Manifest])).toEqual([
      expect.stringMatching(/publishNotReadyAdresses/),
    ]);
  });

  it.each(overlays)('%s runs every role', (target, manifests) => {
    const roles = workloadsOf(manifests).map(
      ({ kind, spec }) => `${kind} ${mainOf(spec.template.spec).args}`,
    );
    const follows = target.includes('local') ? [] : ['Deployment follow-nodes'];
    expect(roles.sort()).toEqual([
      'DaemonSet worker',
      ...(target === 'overlays/autoscale' ? ['Deployment autoscale,kubernetes'] : []),
      ...(target === 'overlays/dashboard' ? ['Deployment dashboard'] : []),
      ...follows,
      'StatefulSet central',
      'StatefulSet scheduler',
      ...(target === 'overlays/autoscale' ? ['StatefulSet worker'] : []),
    ]);
  });

  it.each(overlays)('%s runs one version of the image', (_target, manifests) => {
    const images = workloadsOf(manifests).flatMap(({ spec }) =>
      containersOf(spec.template.spec).map(({ image }) => image),
    );
    expect([...new Set(images)]).toEqual([expect.stringMatching(/^goshawk:/)]);
  });

  it('bear the recommended labels', () => {
    const missing = everything
      .filter(({ kind }) => ['StatefulSet', 'DaemonSet', 'Service', 'ConfigMap', 'Job'].includes(kind))
      .filter(({ metadata: { labels = {} } }) => {
        return labels['app.kubernetes.io/name'] !== 'goshawk' || !('app.kubernetes.io/component' in labels);
      });
    expect(missing.map(nameOf)).toEqual([]);
  });
});

describe.skipIf(whyNot !== undefined)(`pods ${whyNot === undefined ? '' : skipped}`, () => {
  const pods = workloadsOf(everything).map((workload): [string, PodSpec, Workload] => [
    nameOf(workload),
    workload.spec.template.spec,
    workload,
  ]);

  it.each(pods)(
    'of %s have no privilege, and a token only to follow nodes and to set a size',
    (_name, pod) => {
      expect(pod).toMatchObject({
        automountServiceAccountToken: ['follow-nodes', 'autoscale'].includes(mainOf(pod).args![0]!),
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          fsGroup: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
      expect([pod.hostNetwork, pod.hostPID, pod.hostIPC].filter(Boolean)).toEqual([]);
      expect((pod.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined)).toEqual([]);
      for (const { securityContext } of containersOf(pod)) {
        expect(securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(securityContext!.capabilities!.add ?? []).toEqual([]);
        expect(securityContext!.privileged ?? false).toBe(false);
      }
    },
  );

  it.each(pods)('of %s have resource requests and limits', (_name, pod) => {
    for (const { resources } of containersOf(pod)) {
      expect(Object.keys(resources?.requests ?? {}).sort()).toEqual(['cpu', 'memory']);
      // The kernel would throttle central in the middle of a decision.
      const limited = mainOf(pod).args![0] === 'central' ? ['memory'] : ['cpu', 'memory'];
      expect(Object.keys(resources?.limits ?? {}).sort()).toEqual(limited);
    }
  });

  it.each(pods)('of %s mount only the keys of their role, readable by their group', (_name, pod) => {
    const command = mainOf(pod).args![0]!;
    const owner = SEPARATE_KEYS[command] ?? (isClient(pod) ? 'client' : command);
    const secrets = (pod.volumes ?? []).flatMap(({ secret }) => secret ?? []);
    const keys = secrets.filter(({ secretName }) => secretName.endsWith('-key'));
    expect(keys).toEqual([{ secretName: `goshawk-${owner}-key`, defaultMode: 0o440 }]);
  });

  it.each(pods)('of %s mount only existing volumes', (_name, pod, { spec }) => {
    const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
    const there = [...(pod.volumes ?? []).map(({ name }) => name), ...claims];
    for (const { volumeMounts = [] } of containersOf(pod)) {
      for (const { name } of volumeMounts) expect(there).toContain(name);
    }
  });

  const daemons = pods.filter(([, pod]) => !isClient(pod));

  it.each(daemons)('of %s are probed at one of their ports', (_name, pod) => {
    for (const { startupProbe, livenessProbe, readinessProbe, ports = [] } of pod.containers) {
      expect(startupProbe?.httpGet?.path).toBe('/livez');
      expect(livenessProbe?.httpGet?.path).toBe('/livez');
      expect(readinessProbe?.httpGet?.path).toBe('/readyz');
      for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
        expect(ports.map(({ name }) => name)).toContain(probe!.httpGet!.port);
      }
    }
  });

  it.each(daemons)('of %s match its selector', (_name, _pod, { spec }) => {
    expect(selects(spec.selector, spec.template.metadata.labels)).toBe(true);
  });

  it.each(overlays)('of %s have valid settings of their role', (_target, manifests) => {
    for (const { spec } of workloadsOf(manifests)) {
      const container = mainOf(spec.template.spec);
      expect(settingsFrom(container, manifests)).toEqual([]);
    }
  });

  it.each(overlays)('of %s exit before Kubernetes kills them', (_target, manifests) => {
    for (const { spec } of workloadsOf(manifests)) {
      const pod = spec.template.spec;
      const config = configOf(mainOf(pod), manifests);
      const drainSeconds = Number.parseInt(config.GOSHAWK_DRAIN_TIMEOUT ?? '0s', 10);
      expect(drainSeconds + 15).toBeLessThanOrEqual(pod.terminationGracePeriodSeconds!);
    }
  });

  it('with unknown settings are detected by these checks', () => {
    const [, manifests] = overlays[0]!;
    const worker = mainOf(
      workloadsOf(manifests).find(({ kind }) => kind === 'DaemonSet')!.spec.template.spec,
    );
    const and = (name: string, value: string): Container => {
      return { ...worker, env: [...worker.env!, { name, value }] };
    };
    expect(settingsFrom(and('GOSHAWK_SLOT', '1'), manifests)).toEqual([
      'GOSHAWK_SLOT is no setting of `goshawk worker`',
    ]);
    expect(settingsFrom(and('GOSHAWK_POLICY', 'hawk'), manifests)).toEqual([
      'GOSHAWK_POLICY is no setting of `goshawk worker`',
    ]);
    expect(settingsFrom(and('GOSHAWK_WORKER_CPUS', 'four'), manifests)).toEqual([
      'GOSHAWK_WORKER_CPUS: "four" is not a whole number',
    ]);
  });
});

describe.skipIf(whyNot !== undefined)(`what belongs together ${whyNot === undefined ? '' : skipped}`, () => {
  it.each(overlays)('is found by the selectors of %s', (_target, manifests) => {
    const labels = workloadsOf(manifests).map(({ spec }) => spec.template.metadata.labels);
    const lost = manifests.flatMap((manifest) => {
      const selector = selectorOf(manifest);
      const isClients = JSON.stringify(selector ?? {}).includes('client');
      if (selector === undefined || isClients || labels.some((each) => selects(selector, each))) return [];
      return [`${nameOf(manifest)} selects nothing`];
    });
    expect(lost).toEqual([]);
  });

  it.each(overlays)('is reached at the ports of services and policies in %s', (_target, manifests) => {
    const lost = manifests.flatMap((manifest) =>
      portsAsked(manifest).flatMap(({ selector, port }) => {
        const selected = workloadsOf([...manifests, ...examples]).filter(({ spec }) =>
          selects(selector, spec.template.metadata.labels),
        );
        const isThere = selected.some(({ spec }) =>
          (mainOf(spec.template.spec).ports ?? []).some(
            ({ name, containerPort }) => name === port || containerPort === port,
          ),
        );
        return isThere ? [] : [`${nameOf(manifest)}: nobody there listens at ${port}`];
      }),
    );
    expect(lost).toEqual([]);
  });

  it('permits at both ends exactly the connections that messages need', () => {
    const policies = built.get('overlays/production')!.filter(({ kind }) => kind === 'NetworkPolicy');
    const egress = policies.flatMap((policy) => connections(policy, 'egress'));
    const ingress = policies.flatMap((policy) => connections(policy, 'ingress'));
    expect(egress.sort()).toEqual(ingress.sort());
    expect([...new Set(egress)]).toEqual(dialled());
  });

  it('stores jobs in PostgreSQL with the overlay for that, and gives only schedulers access to it', () => {
    const manifests = built.get('overlays/postgres')!;
    const workloads = workloadsOf(manifests);
    const asked = workloads.flatMap(({ spec }) =>
      containersOf(spec.template.spec).flatMap(({ env = [] }) =>
        env
          .filter(({ name }) => name === 'GOSHAWK_JOURNAL')
          .map(({ valueFrom }) => [nameOfRole(spec), valueFrom]),
      ),
    );
    const uri = { secretKeyRef: { name: 'goshawk-journal', key: 'uri' } };
    const scheduler = workloads.find(({ spec }) => nameOfRole(spec) === 'scheduler')!.spec;
    const { initContainers = [] } = scheduler.template.spec;
    expect(initContainers).toMatchObject([
      { image: mainOf(scheduler.template.spec).image, args: ['journal', 'init'] },
    ]);
    expect(asked).toEqual([
      ['scheduler', uri],
      ['scheduler', uri],
    ]);
    expect(scheduler.volumeClaimTemplates).toBeUndefined();
    const { GOSHAWK_DATA_FOLDER: folder } = configOf(mainOf(scheduler.template.spec), manifests);
    const mounts = mainOf(scheduler.template.spec).volumeMounts ?? [];
    expect(mounts.some(({ mountPath }) => folder === mountPath || folder!.startsWith(`${mountPath}/`))).toBe(
      true,
    );
    const reach = manifests.filter(
      ({ kind, spec }) =>
        kind === 'NetworkPolicy' &&
        (spec!.egress ?? []).some((rule) => rule.to === undefined && portsOf(rule).includes(5432)),
    );
    const allowed = workloads.filter(({ spec }) =>
      reach.some((policy) => selects(policy.spec!.podSelector!, spec.template.metadata.labels)),
    );
    expect(allowed.map(({ spec }) => nameOfRole(spec))).toEqual(['scheduler']);
  });

  it('has a page with the overlay for that, which requires tokens; its liveness has a port of its own', () => {
    const manifests = built.get('overlays/dashboard')!;
    const page = workloadsOf(manifests).find(({ spec }) => nameOfRole(spec) === 'dashboard')!;
    const { env = [], ports = [], livenessProbe, readinessProbe } = mainOf(page.spec.template.spec);
    const setting = (name: string) => env.find((each) => each.name === name)?.value;
    const [port, health] = ports;
    expect(setting('GOSHAWK_LISTEN')).toBe(`0.0.0.0:${port!.containerPort}`);
    expect(setting('GOSHAWK_HTTP')).toBe(`0.0.0.0:${health!.containerPort}`);
    expect(readinessProbe?.httpGet?.port).toBe(port!.name);
    expect(livenessProbe?.httpGet?.port).toBe(health!.name);
    const mounts = mainOf(page.spec.template.spec).volumeMounts ?? [];
    const tokens = mounts.find(({ mountPath }) => setting('GOSHAWK_TOKEN_FILE')?.startsWith(`${mountPath}/`));
    const secret = page.spec.template.spec.volumes?.find(({ name }) => name === tokens!.name)?.secret;
    expect(secret).toEqual({ secretName: 'goshawk-dashboard', defaultMode: 0o440 });
  });

  it('may only set the size of its pool, whose workers are named after their pods', () => {
    const manifests = built.get('overlays/autoscale')!;
    const scaler = workloadsOf(manifests).find(({ spec }) => nameOfRole(spec) === 'autoscale')!.spec.template
      .spec;
    const { GOSHAWK_POOL: pool } = configOf(mainOf(scaler), manifests);
    const set = workloadsOf(manifests).find(
      ({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === pool,
    )!;
    expect(set.spec).not.toHaveProperty('replicas');
    expect(mainOf(set.spec.template.spec).env).toContainEqual({
      name: 'GOSHAWK_NAME',
      valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
    });
    const roles = manifests.filter(({ kind }) => kind === 'Role') as unknown as { rules: unknown }[];
    expect(roles.map(({ rules }) => rules)).toEqual([
      [
        {
          apiGroups: ['apps'],
          resources: ['statefulsets/scale'],
          resourceNames: [pool],
          verbs: ['get', 'patch'],
        },
      ],
    ]);
  });

  it('has the priority classes and services of all pods', () => {
    const manifests = built.get('overlays/autoscale')!;
    const classes = manifests
      .filter(({ kind }) => kind === 'PriorityClass')
      .map(({ metadata }) => metadata.name);
    for (const { spec } of workloadsOf(manifests)) {
      expect(classes).toContain(spec.template.spec.priorityClassName);
    }
    const services = manifests.filter(({ kind }) => kind === 'Service').map(({ metadata }) => metadata.name);
    for (const { spec } of workloadsOf(manifests)) {
      if (spec.serviceName !== undefined) expect(services).toContain(spec.serviceName);
    }
  });
});

const ROLES = ['central', 'scheduler', 'worker', 'client'];
const COMPONENT = 'app.kubernetes.io/component';

function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`;
}

function nameOfRole({ template }: Workload['spec']): string {
  return mainOf(template.spec).args![0]!;
}

/** It has the client's key, and no other part of the cluster connects to it. */
function isClient(pod: PodSpec): boolean {
  return ['submit', 'follow-nodes', 'autoscale', 'dashboard'].includes(mainOf(pod).args![0]!);
}

function containersOf({ containers, initContainers = [] }: PodSpec): readonly Container[] {
  return [...containers, ...initContainers];
}

function mainOf({ containers }: PodSpec): Container {
  return containers[0]!;
}

function configOf({ envFrom = [] }: Container, manifests: readonly Manifest[]): Record<string, string> {
  const names = envFrom.map(({ configMapRef }) => configMapRef?.name);
  const maps = manifests.filter(
    ({ kind, metadata }) => kind === 'ConfigMap' && names.includes(metadata.name),
  );
  return Object.assign({}, ...maps.map(({ data }) => data));
}

/** Returns the pod selector of an object. A Service selects by labels only. */
function selectorOf({ kind, spec }: Manifest) {
  if (kind === 'Service') return { matchLabels: spec!.selector as unknown as Record<string, string> };
  return spec?.podSelector ?? spec?.selector;
}

function portsAsked(manifest: Manifest) {
  const { kind, spec } = manifest;
  const selector = selectorOf(manifest)!;
  if (kind === 'Service')
    return spec!.ports!.map(({ port, targetPort }) => ({ selector, port: targetPort ?? port }));
  if (kind === 'PodMonitor') return spec!.podMetricsEndpoints!.map(({ port }) => ({ selector, port }));
  if (kind !== 'NetworkPolicy') return [];
  const into = (spec!.ingress ?? []).flatMap(portsOf).map((port) => ({ selector, port }));
  const outOf = (spec!.egress ?? []).flatMap((rule) =>
    (rule.to ?? [])
      // Requests for DNS go elsewhere.
      .flatMap(({ podSelector, namespaceSelector }) => (namespaceSelector ? [] : (podSelector ?? [])))
      .flatMap((to) => portsOf(rule).map((port) => ({ selector: to, port }))),
  );
  return [...into, ...outOf];
}

function portsOf({ ports = [] }: Rule): number[] {
  return ports.map(({ port }) => port);
}

const PORTS: Readonly<Record<string, number>> = { central: 7070, scheduler: 7071, worker: 7072 };

/** Lists the connections that the message table implies. Clients get answers over the connections they open. */
function dialled(): string[] {
  const pairs = MESSAGE_TYPES.flatMap((type) =>
    MESSAGES[type].from.flatMap((from: string) =>
      MESSAGES[type].to.flatMap((to: string) => (to === 'client' ? [] : [`${from} → ${to}:${PORTS[to]}`])),
    ),
  );
  return [...new Set(pairs)].sort();
}

/** Lists the connections that a policy allows, as `from → to:port`. */
function connections({ spec }: Manifest, way: 'ingress' | 'egress'): string[] {
  const own = rolesOf(spec!.podSelector!);
  return (spec![way] ?? []).flatMap((rule) =>
    (rule[way === 'ingress' ? 'from' : 'to'] ?? [])
      .filter(({ namespaceSelector }) => namespaceSelector === undefined)
      .flatMap(({ podSelector }) => (podSelector === undefined ? [] : rolesOf(podSelector)))
      .flatMap((other) =>
        own.flatMap((role) =>
          portsOf(rule).map((port) => {
            return way === 'ingress' ? `${other} → ${role}:${port}` : `${role} → ${other}:${port}`;
          }),
        ),
      ),
  );
}

function rolesOf(selector: NonNullable<ReturnType<typeof selectorOf>>): string[] {
  return ROLES.filter((role) =>
    selects(selector, { 'app.kubernetes.io/name': 'goshawk', [COMPONENT]: role }),
  );
}
