import { duringReplay, type Job } from './jobs.js';
import { check, type Lab, NAMESPACE, NODE, type Role } from './lab.js';
import type { OneNode } from './one-node.js';

const ROLES: readonly Role[] = ['central', 'scheduler', 'worker'];
const SETS: Readonly<Record<Role, string>> = {
  central: 'statefulset/goshawk-central',
  scheduler: 'statefulset/goshawk-scheduler',
  worker: 'daemonset/goshawk-worker',
};

// Replays last longer than the disruption, because a kubelet may keep the object of an ended pod for two minutes.

export async function deletePods(lab: Lab): Promise<void> {
  lab.transcript.heading('a pod of each role deleted during a replay');
  await duringReplay(lab, { jobs: 500, seconds: 240 }, async () => {
    for (const role of ROLES) {
      await lab.kubectl(['delete', 'pod', await lab.onePod(role)]);
      await lab.untilReady();
    }
  });
}

export async function restartRoles(lab: Lab): Promise<void> {
  lab.transcript.heading('each role restarted during a replay');
  await duringReplay(lab, { jobs: 500, seconds: 300 }, async () => {
    for (const role of ROLES) {
      await lab.kubectl(['rollout', 'restart', SETS[role]]);
      await lab.kubectl(['rollout', 'status', SETS[role], '--timeout=300s'], { output: lastLine });
      await lab.untilReady();
    }
  });
}

/** Evicts a worker as a node drain does, with tasks that outlive the eviction request. */
export async function evictWorker(lab: Lab): Promise<void> {
  lab.transcript.heading('a worker evicted while it runs tasks');
  const { job: id } = await lab.ask<{ job: string }>(['submit', '--tasks', '5', '--sleep', '20s']);
  const look = (): Promise<Job> => lab.ask<Job>(['job', id]);
  await lab.until('five running tasks', async () => (await look()).tasks.running === 5);
  const pod = await lab.onePod('worker');
  check(await evict(lab, pod), 'the worker cannot be evicted');
  await lab.until('workers that drain', async () => {
    const { workers } = await lab.ask<Workers>(['workers']);
    return workers.length > 0 && workers.every(({ state }) => state !== 'active');
  });
  await lab.goshawk(['workers'], { output: firstLines });
  await lab.until('the end of the job', async () => (await look()).state !== 'running');
  const { state, attemptCounts } = await look();
  check(state === 'completed', `the job ${state}`);
  check(attemptCounts.total === 5, `five tasks took ${attemptCounts.total} attempts`);
  lab.transcript.say(`job ${id} completed: each task ran once, on its first worker`);
  await lab.untilReady();
}

interface Workers {
  readonly workers: readonly { readonly name: string; readonly state: string }[];
}

export async function evictSchedulers(lab: Lab): Promise<void> {
  lab.transcript.heading('one scheduler at a time');
  check(await evict(lab, 'goshawk-scheduler-0'), 'the first scheduler cannot be evicted');
  check(!(await evict(lab, 'goshawk-scheduler-1')), 'both schedulers were evicted at once');
  await lab.untilReady();
}

/** A label removes a node's worker, and removing the label restores it. */
export async function excludeNode(lab: Lab): Promise<void> {
  lab.transcript.heading('a node excluded, and included again');
  await lab.kubectl(['label', 'node', NODE, 'goshawk/worker=false']);
  await lab.until('no worker', async () => (await lab.pods('worker')).length === 0);
  await lab.goshawk(['workers']);
  await lab.kubectl(['label', 'node', NODE, 'goshawk/worker-']);
  await lab.untilReady();
  await lab.goshawk(['workers'], { output: lastLine });
}

/** `kubectl drain` does not evict pods of DaemonSets, but `goshawk follow-nodes` drains their workers. */
export async function drainNode(lab: Lab, node: OneNode): Promise<void> {
  lab.transcript.heading('a node drained by Kubernetes');
  const ending = new AbortController();
  const words = [
    '--api',
    node.api,
    '--token-file',
    node.writeToken(lab.folder),
    '--ca-file',
    node.certificate,
  ];
  const following = lab.goshawk(['follow-nodes', ...words, '--every', '1s'], {
    signal: ending.signal,
    shown: '',
  });
  lab.transcript.say('goshawk follow-nodes &   # in production, a pod does this');
  try {
    await lab.kubectl([
      'drain',
      NODE,
      '--ignore-daemonsets',
      '--pod-selector=app.kubernetes.io/component=worker',
    ]);
    await untilWorkers(lab, 'drained');
    await lab.goshawk(['workers'], { output: firstLines });
    await lab.kubectl(['uncordon', NODE]);
    await untilWorkers(lab, 'active');
    await lab.goshawk(['workers'], { output: firstLines });
  } finally {
    ending.abort();
    const { exitCode, stderr } = await following;
    check(exitCode === 0, `goshawk follow-nodes failed: ${stderr.trim()}`);
  }
}

function untilWorkers(lab: Lab, wanted: string): Promise<void> {
  return lab.until(`workers that are ${wanted}`, async () => {
    const { workers } = await lab.ask<Workers>(['workers']);
    return workers.length > 0 && workers.every(({ state }) => state === wanted);
  });
}

/** @returns whether the eviction is allowed; a disruption budget may forbid it */
async function evict(lab: Lab, pod: string): Promise<boolean> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod}/eviction`;
  const eviction = {
    apiVersion: 'policy/v1beta1',
    kind: 'Eviction',
    metadata: { name: pod, namespace: NAMESPACE },
  };
  const { exitCode } = await lab.tryKubectl(['create', '--raw', path, '-f', '-'], {
    stdin: JSON.stringify(eviction),
    shown: `kubectl create --raw ${path} -f -   # what kubectl drain asks for`,
    output: () => 'evicted',
  });
  return exitCode === 0;
}

function firstLines(text: string): string {
  return text.split('\n').slice(0, 3).join('\n');
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
