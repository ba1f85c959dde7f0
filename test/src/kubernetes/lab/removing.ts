import { join } from 'node:path';
import { ROOT } from '../manifests.js';
import { apply } from './installing.js';
import type { Job } from './jobs.js';
import { check, type Lab, NAMESPACE, OVERLAY } from './lab.js';

/** Objects that every namespace contains. */
const SYSTEM_OBJECTS = /kube-root-ca\.crt|default-token|serviceaccount\/default/;
const KINDS = 'all,configmaps,poddisruptionbudgets,networkpolicies,controllerrevisions';

/** A reinstalled cluster still knows its jobs; after removal of its namespace nothing remains. */
export async function remove(lab: Lab, job: string): Promise<void> {
  lab.transcript.heading('remove, and install again');
  await removeOverlay(lab);
  await lab.kubectl(['get', 'pvc,secrets']);
  await apply(lab);
  await lab.untilReady();
  const { state } = await lab.ask<Job>(['job', job]);
  check(state === 'completed', `the job ${job} is ${state} after the reinstallation`);
  lab.transcript.say(`job ${job} is known, and ${state}`);

  lab.transcript.heading('remove permanently');
  await removeOverlay(lab);
  await lab.kubectl(['delete', 'namespace', NAMESPACE]);
  const { stdout } = await lab.kubectl(['get', 'namespaces', '-o', 'name'], { shown: '' });
  check(!stdout.includes(`/${NAMESPACE}`), 'the namespace is still there');
  await lab.kubectl(['get', 'pv']);
  await lab.kubectl(['delete', 'pv', '--all']);
  const docker = await lab.transcript.run('docker', ['ps', '-aq', '--filter', 'name=^k8s_.*goshawk'], {
    shown: '',
  });
  check(docker.stdout.trim() === '', 'containers remain');
}

async function removeOverlay(lab: Lab): Promise<void> {
  await lab.kubectl(['delete', '-k', join(ROOT, OVERLAY)], { shown: `kubectl delete -k ${OVERLAY}` });
  await lab.until('everything gone', async () => (await leftovers(lab)).length === 0);
  await lab.kubectl(['get', KINDS, '--ignore-not-found']);
}

async function leftovers(lab: Lab): Promise<string[]> {
  const own = await lab.kubectl(['get', KINDS, '-o', 'name'], { shown: '' });
  const classes = await lab.kubectl(['get', 'priorityclasses', '-o', 'name'], { shown: '' });
  const names = [
    ...own.stdout.split('\n'),
    ...classes.stdout.split('\n').filter((name) => /goshawk/.test(name)),
  ];
  return names.filter((name) => name !== '' && !SYSTEM_OBJECTS.test(name));
}
