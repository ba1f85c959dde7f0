import { access } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { WorkloadError } from './errors.js';

/** A trace file in a public repository. */
interface PublishedTrace {
  /** Owner and name on GitHub. */
  readonly repository: string;
  readonly path: string;
  readonly about: string;
}

/** Folder in the working directory that has the files of published traces. */
const FOLDER = 'traces';

const of = (repository: string, path: string, about: string): PublishedTrace => ({ repository, path, about });

/** Published traces by name. `scripts/public-traces.mjs` checks what is read from each. */
export const PUBLISHED: Readonly<Record<string, PublishedTrace>> = {
  'alibaba-gpu-2023': of(
    'alibaba/clusterdata',
    'cluster-trace-gpu-v2023/csv/openb_pod_list_cpu050.csv',
    'pods with GPUs, 2023',
  ),
  hpc2n: of('aleasimulator/alea', 'Alea/data-set/hpc2n.swf', 'part of HPC2N, Parallel Workloads Archive'),
  'wagap-2013': of('aleasimulator/alea', 'Alea/data-set/wagap-2013.swf', 'Zewura, CERIT-SC, 2013'),
  'alibaba-2017': of(
    'Uv-can/e-Commerce-Applications-Workload-Forecasting',
    'batch_task.csv',
    'batch jobs, 10 million tasks',
  ),
  'alibaba-2018-sample': of('abhinav269747/Capstone-cloud', 'batch_task.csv', 'first rows of the batch jobs'),
  'google-2019-sample': of(
    'Oiapokxui/EP1-DSID',
    'sample-traces/instance_events/instance-sample.csv',
    'three jobs',
  ),
  'azure-2019-sample': of('vhive-serverless/invitro', 'data/traces/example', 'invocations of functions'),
  'wf-blast': of('wfcommons/WfInstances', 'makeflow/blast/blast-chameleon-medium-001.json', 'one workflow'),
  'wf-montage': of(
    'wfcommons/WfInstances',
    'pegasus/montage/montage-chameleon-2mass-05d-001.json',
    'one workflow',
  ),
  'dax-montage': of('WorkflowSim/WorkflowSim-1.0', 'config/dax/Montage_100.xml', 'a workflow of 100 tasks'),
  'dax-cybershake': of(
    'WorkflowSim/WorkflowSim-1.0',
    'config/dax/CyberShake_1000.xml',
    'a workflow of 1,000 tasks',
  ),
  'batsim-hpc': of(
    'oar-team/batsim',
    'workloads/example_workload_hpc_seed3_jobs250.json',
    '250 parallel jobs',
  ),
  'batsim-paper': of(
    'oar-team/batsim',
    'workloads/test_batsim_paper_workload_seed1.json',
    '800 parallel jobs',
  ),
  'sacct-slurm2sql': of('NordicHPC/slurm2sql', 'tests/test-data1.csv', 'two jobs of Slurm'),
  'sacct-sim-tools': of(
    'ubccr-slurm-simulator/slurm_sim_tools',
    'tests/slurmanalyser/slurmparser/test_sacctlog/sacct_simple.log',
    'four jobs of Slurm',
  ),
  'sacct-usage': of('SteampunkIslande/slurm-usage-report-rs', 'assets/tests/sacct.csv', 'one job of Slurm'),
  sls: of('apache/hadoop', 'hadoop-tools/hadoop-sls/src/test/resources/inputsls.json', 'two jobs of YARN'),
  'sls-dag': of(
    'apache/hadoop',
    'hadoop-tools/hadoop-sls/src/test/resources/sls_dag.json',
    'two jobs of YARN',
  ),
};

/**
 * Finds the file of a published trace: `traces/OWNER/NAME/PATH`, as in a folder of clones, or `traces/` and the file's own name.
 *
 * @returns undefined if no published trace has this name
 * @throws WorkloadError that says where to get the file, if it is not there
 */
export async function findPublished(name: string, folder = FOLDER): Promise<string | undefined> {
  if (!Object.hasOwn(PUBLISHED, name)) return undefined;
  const { repository, path, about } = PUBLISHED[name]!;
  const places = [join(folder, repository, path), join(folder, basename(path))];
  for (const place of places) {
    const isThere = await access(place).then(
      () => true,
      () => false,
    );
    if (isThere) return place;
  }
  throw new WorkloadError(
    `${name} (${about}) is a published trace that is not in the folder ${folder}`,
    `copy ${path} of https://github.com/${repository} to ${places[1]}`,
  );
}
