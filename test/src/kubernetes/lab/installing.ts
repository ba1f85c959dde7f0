import { join } from 'node:path';
import { ROOT } from '../manifests.js';
import { check, type Lab, NAMESPACE, NODE, OVERLAY, SCHEDULERS } from './lab.js';

export async function install(lab: Lab): Promise<void> {
  lab.transcript.heading('install');
  await lab.kubectl(['create', 'namespace', NAMESPACE]);
  await lab.kubectl(['config', 'set-context', '--current', `--namespace=${NAMESPACE}`]);
  await lab.findCentral();
  await giveKeys(lab);
  await lab.kubectl(['apply', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: volumes(lab) }),
    shown: 'kubectl apply -f -   # folders that stand in for disks',
  });
  await apply(lab);
  await lab.untilReady();
  await lab.kubectl(['get', 'pods,daemonsets,statefulsets,pvc,pdb', '-o', 'wide'], { output: withoutImages });
}

export async function apply(lab: Lab): Promise<void> {
  await lab.kubectl(['apply', '-k', join(ROOT, OVERLAY)], { shown: `kubectl apply -k ${OVERLAY}` });
}

async function giveKeys(lab: Lab): Promise<void> {
  const keygen = ['keygen', lab.keys, '--kubernetes', '--namespace', NAMESPACE];
  const { stdout, stderr, exitCode } = await lab.goshawk(keygen, { shown: '' });
  check(exitCode === 0, stderr);
  await lab.kubectl(['apply', '-f', '-'], {
    stdin: stdout,
    shown: `goshawk keygen keys --kubernetes --namespace ${NAMESPACE} | kubectl apply -f -`,
  });
}

/** Volumes created by hand, because the lab has no provisioner. They outlive their claims, as journals should. */
function volumes(lab: Lab): unknown[] {
  return Array.from({ length: SCHEDULERS }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `goshawk-lab-${index}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path: lab.makeVolume(String(index)) },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE] }] },
          ],
        },
      },
    },
  }));
}

function withoutImages(text: string): string {
  return text.replaceAll(/ +(NOMINATED NODE|<none> +<none>$).*$/gm, '');
}
