// `npm run test:kubernetes`: the manifests on a real cluster of one node. measurements/kubernetes.json has a run.
//
//     GOSHAWK_KUBERNETES=DIR   where Kubernetes was built; built there (4 to 5 minutes) when it was not
//     NODE_IMAGE=IMAGE         the base of the image
import { isRequired } from '@goshawk/journal/testing';
import { readOptions } from '../../../../scripts/options.mjs';
import { autoscaleByPod } from './autoscaling.js';
import {
  deletePods,
  drainNode,
  evictSchedulers,
  evictWorker,
  excludeNode,
  restartRoles,
} from './disruptions.js';
import { install } from './installing.js';
import { runOneJob } from './jobs.js';
import { Lab } from './lab.js';
import { OneNode, whyNoLab } from './one-node.js';
import { remove } from './removing.js';
import { Transcript } from './transcript.js';

const transcript = new Transcript((line) => console.log(line));

async function main(): Promise<void> {
  const node = new OneNode(transcript);
  transcript.heading('a cluster of one node');
  await node.start();
  const lab = new Lab(transcript, node.kubeconfig);
  try {
    await install(lab);
    const job = await runOneJob(lab);
    await deletePods(lab);
    await restartRoles(lab);
    await evictWorker(lab);
    await evictSchedulers(lab);
    await excludeNode(lab);
    await drainNode(lab, node);
    await autoscaleByPod(lab, node);
    await remove(lab, job);
    transcript.heading('all checks passed');
  } catch (error) {
    transcript.heading(`it failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
    await showState(lab);
  } finally {
    await node.stop();
    lab.close();
  }
}

/** Prints details for debugging. */
async function showState(lab: Lab): Promise<void> {
  await lab.tryKubectl(['get', 'pods', '-o', 'wide']);
  await lab.tryKubectl(['get', 'events', '--sort-by=.lastTimestamp']);
  await lab.tryKubectl(['logs', '-l', 'app.kubernetes.io/name=goshawk', '--prefix', '--tail=40']);
}

readOptions('npm run test:kubernetes, with GOSHAWK_KUBERNETES and NODE_IMAGE from the environment', {});
const why = whyNoLab();
if (why === undefined) await main();
else {
  console.log(`skipped: ${why}`);
  // A missing Kubernetes is a failure if it is required.
  if (isRequired('kubernetes')) process.exitCode = 1;
}
