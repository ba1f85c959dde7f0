import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { K8S } from '../manifests.js';
import type { Job } from './jobs.js';
import { check, type Lab, NAMESPACE, NODE } from './lab.js';
import type { OneNode } from './one-node.js';

const POOL = 'goshawk-pool';
const POOL_MAX = 3;
/** Exceeds the capacity of the first worker while another one starts. */
const TASKS = 40;

const HOST_IP = { name: 'HOST_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } };
const CENTRAL = `tcp://$(HOST_IP):7070`;
const TOLERATIONS = [{ operator: 'Exists', effect: 'NoSchedule' }];
/** Limits as requests: the kubelet here starts no other pods. */
const SMALL = { cpu: '200m', memory: '192Mi' };
const RESOURCES = { requests: SMALL, limits: SMALL };

interface Workers {
  readonly workers: readonly { readonly name: string; readonly state: string }[];
}

/** A pool of workers, and `goshawk autoscale` as a pod with the rights of its service account. */
export async function autoscaleByPod(lab: Lab, node: OneNode): Promise<void> {
  lab.transcript.heading('workers that scale with the load');
  // The node's own worker leaves the CPUs to the pool.
  await lab.kubectl(['label', 'node', NODE, 'goshawk/worker=false']);
  await lab.until('no worker', async () => (await lab.pods('worker')).length === 0);
  const overlay = writeOverlay(lab, node);
  await lab.kubectl(['apply', '-k', overlay], {
    shown: 'kubectl apply -k k8s/pools/elastic   # fitted to this node',
  });
  await checkRights(lab);
  const words = ['submit', '--tasks', String(TASKS), '--cwd', '/tmp', '--wait', '--', 'sleep', '3'];
  const running = lab.goshawk(words);
  await lab.until(`${POOL_MAX} workers of the pool`, async () => (await poolWorkers(lab)) === POOL_MAX);
  const { exitCode, stdout } = await running;
  check(exitCode === 0, 'the job did not complete');
  const { attemptCounts } = await lab.ask<Job>(['job', stdout.trim().split('\n')[0]!]);
  check(attemptCounts.total === TASKS, `${attemptCounts.total} attempts at ${TASKS} tasks`);
  await lab.until(
    'no worker of the pool',
    async () => (await poolWorkers(lab)) === 0 && (await replicas(lab)) === '0',
  );
  await lab.kubectl(['logs', 'deployment/goshawk-autoscale']);
  await lab.kubectl(['delete', '-k', overlay, '--ignore-not-found'], {
    shown: 'kubectl delete -k k8s/pools/elastic',
  });
  await lab.until('the pool gone', async () => {
    const { stdout: pods } = await lab.kubectl(['get', 'pods', '-o', 'name'], { shown: '' });
    return !/goshawk-(pool|autoscale)/.test(pods);
  });
  await lab.kubectl(['label', 'node', NODE, 'goshawk/worker-']);
  await lab.untilReady();
}

async function poolWorkers(lab: Lab): Promise<number> {
  const { workers } = await lab.ask<Workers>(['workers']);
  return workers.filter(({ name }) => name.startsWith(POOL)).length;
}

async function replicas(lab: Lab): Promise<string> {
  const words = ['get', 'statefulset', POOL, '-o', 'jsonpath={.spec.replicas}'];
  return (await lab.kubectl(words, { shown: '' })).stdout;
}

/** The service account may set the size of its pool, and nothing else. */
async function checkRights(lab: Lab): Promise<void> {
  const account = `system:serviceaccount:${NAMESPACE}:goshawk-autoscale`;
  for (const [set, answer] of [
    [POOL, 'yes'],
    ['goshawk-scheduler', 'no'],
  ] as const) {
    const words = ['auth', 'can-i', 'patch', `statefulsets/${set}`, '--subresource=scale', `--as=${account}`];
    const { stdout } = await lab.tryKubectl(words);
    check(stdout.trim() === answer, `the autoscaler's right to set the size of ${set}: ${stdout.trim()}`);
  }
}

/** This cluster has neither DNS nor Services, gives pods no tokens, and serves its API at the node's loopback alone. */
function writeOverlay(lab: Lab, node: OneNode): string {
  const folder = join(lab.folder, 'autoscale');
  mkdirSync(folder);
  copyFileSync(node.certificate, join(folder, 'ca.crt'));
  const token = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: {
      name: 'goshawk-autoscale-token',
      annotations: { 'kubernetes.io/service-account.name': 'goshawk-autoscale' },
    },
  };
  writeFileSync(join(folder, 'token.yaml'), JSON.stringify(token));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace: NAMESPACE,
    resources: [relative(folder, join(K8S, 'pools/elastic')), 'token.yaml'],
    images: [{ name: 'goshawk', newTag: 'latest' }],
    configMapGenerator: [
      { name: 'goshawk-autoscale-ca', files: ['ca.crt'] },
      {
        name: 'goshawk-autoscale',
        behavior: 'merge',
        literals: [
          `GOSHAWK_MAX=${POOL_MAX}`,
          'GOSHAWK_WORKER_CPUS=1',
          'GOSHAWK_COOLDOWN=5s',
          'GOSHAWK_EVERY=1s',
        ],
      },
    ],
    patches: [{ patch: JSON.stringify(poolPatch()) }, { patch: JSON.stringify(autoscalerPatch()) }],
  };
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
  return folder;
}

function poolPatch(): object {
  return patchOf('StatefulSet', POOL, {
    terminationGracePeriodSeconds: 60,
    tolerations: TOLERATIONS,
    containers: [
      {
        name: 'goshawk',
        env: [HOST_IP, { name: 'GOSHAWK_CENTRAL_URL', value: CENTRAL }],
        resources: RESOURCES,
      },
    ],
  });
}

function autoscalerPatch(): object {
  const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
  return patchOf('Deployment', 'goshawk-autoscale', {
    hostNetwork: true,
    tolerations: TOLERATIONS,
    containers: [
      {
        name: 'goshawk',
        env: [
          HOST_IP,
          { name: 'GOSHAWK_CLUSTER', value: CENTRAL },
          { name: 'KUBERNETES_SERVICE_HOST', value: '127.0.0.1' },
          { name: 'KUBERNETES_SERVICE_PORT', value: '6443' },
        ],
        resources: RESOURCES,
        volumeMounts: [{ name: 'account', mountPath, readOnly: true }],
      },
    ],
    volumes: [
      {
        name: 'account',
        projected: {
          sources: [
            {
              secret: {
                name: 'goshawk-autoscale-token',
                items: ['token', 'namespace'].map((key) => ({ key, path: key })),
              },
            },
            { configMap: { name: 'goshawk-autoscale-ca' } },
          ],
        },
      },
    ],
  });
}

function patchOf(kind: string, name: string, pod: object): object {
  return { apiVersion: 'apps/v1', kind, metadata: { name }, spec: { template: { spec: pod } } };
}
