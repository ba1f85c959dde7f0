// Compares what Goshawk reads from trace files in public repositories with counts that a separate program made from the
// raw files, and simulated run times under FIFO with those of scripts/public-traces.py, which shares no code with Goshawk.
// Usage: node scripts/public-traces.mjs FOLDER, which has clones or files as OWNER/NAME/PATH.
import { execFile } from 'node:child_process';
import { access, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openWorkload, PUBLISHED } from '../packages/research/traces/dist/index.js';

/**
 * Name; jobs, tasks, task seconds, and the seconds of CPUs, bytes and GPUs that tasks demand; for run times
 * under FIFO: format of scripts/public-traces.py, number of servers, and CPUs of each.
 */
const FILES = [
  [
    'alibaba-gpu-2023',
    [6561, 6561, 192629835, 2129618622.792, 5530885653449932800, 185294426.97],
    ['openb', '1', '128'],
  ],
  ['hpc2n', [3145, 63578, 503655194, 0, 205315794534400, 0], ['swf', '120', '1']],
  ['wagap-2013', [17898, 149384, 9647254226, 0, 6.632199439743381e23, 0], ['swf', '400', '1']],
  [
    'alibaba-2017',
    [11644, 10214274, 7822815623, 4522987089.85, 106641610.134, 0],
    ['alibaba2017', '3000', '4'],
  ],
  ['google-2019-sample', [3, 5, 553371.932659, 0, 0, 0], ['google2019', '1', '1']],
  ['wf-blast', [1, 303, 31513.114385, 31513.114385, 33089480923733, 0], ['wfcommons', '10', '1']],
  ['wf-montage', [1, 1738, 8694.654, 0, 0, 0], ['wfcommons', '16', '1']],
  ['dax-montage', [1, 100, 1079.34, 0, 0, 0], ['dax', '5', '1']],
  ['dax-cybershake', [1, 1000, 22751.94, 0, 0, 0], ['dax', '20', '1']],
  ['batsim-hpc', [250, 3320, 1063940.24, 0, 0, 0], ['batsim', '64', '1']],
  ['batsim-paper', [800, 2179, 256361.954, 0, 0, 0], ['batsim', '16', '1']],
  ['alibaba-2018-sample', [4999, 31539, 1468867, 2094661, 28420284.4, 0], ['alibaba2018', '20', '32']],
  ['azure-2019-sample', [4525, 4525, 1099.375, 0, 0, 0], ['azure2019', '1', '1']],
  ['sacct-slurm2sql', [2, 2, 12822, 25627, 29548347392000, 0], ['sacct', '1', '2']],
  ['sacct-sim-tools', [4, 6, 105517, 3191992, 50171173928960000, 0], ['sacct', '2', '32']],
  ['sacct-usage', [1, 1, 778, 778, 815792128000, 0], ['sacct', '1', '1']],
  ['sls', [2, 5, 91.566, 0, 0, 0], ['sls', '2', '1']],
  ['sls-dag', [2, 5, 91.566, 0, 0, 0], ['sls', '2', '1']],
];

const run = promisify(execFile);
const BUFFER = { maxBuffer: 1024 ** 3 };

const [folder] = process.argv.slice(2);
if (folder === undefined || folder.startsWith('-')) {
  console.error('usage: node scripts/public-traces.mjs FOLDER');
  process.exit(2);
}
let [missing, different] = [0, 0];
for (const [name, expected, fifo] of FILES) {
  const { repository, path } = PUBLISHED[name];
  const file = join(folder, repository, path);
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (!exists) {
    missing++;
    console.log(`missing    ${file}: from https://github.com/${repository}`);
    continue;
  }
  const counted = await count(file);
  const isEqual = counted.every(
    (value, at) => Math.abs(value - expected[at]) <= 1e-9 * Math.abs(expected[at]),
  );
  if (!isEqual) different++;
  console.log(`${isEqual ? 'equal      ' : 'different  '}${repository} ${path}: ${counted.join(' ')}`);
  if (!isEqual) console.log(`           expected ${expected.join(' ')}`);
  const unequal = await differentRunTimes(file, fifo);
  if (unequal > 0) different++;
  console.log(`${unequal === 0 ? 'equal      ' : 'different  '}${repository} ${path}: run times under FIFO`);
}
console.log(`${FILES.length - missing} files, ${different} differences, ${missing} missing`);
process.exitCode = different > 0 ? 1 : 0;

async function count(file) {
  const workload = await openWorkload(file);
  const sums = [0, 0, 0, 0, 0, 0];
  for await (const job of workload.jobs()) {
    sums[0]++;
    let task = 0;
    for (const { tasks, demand } of job.stages ?? [
      { tasks: job.durationsSeconds.length, demand: undefined },
    ]) {
      const { cpu = 0, memory = 0, gpu = 0 } = demand ?? job.demand ?? {};
      for (const end = task + tasks; task < end; task++) {
        const seconds = job.durationsSeconds[task];
        for (const [at, each] of [1, seconds, seconds * cpu, seconds * memory, seconds * gpu].entries())
          sums[at + 1] += each;
      }
    }
  }
  return sums;
}

/** Returns the number of jobs whose run time differs by more than a millionth. */
async function differentRunTimes(file, [format, servers, cpus]) {
  const independent = await run(
    'python3',
    [new URL('public-traces.py', import.meta.url).pathname, file, format, servers, cpus],
    BUFFER,
  );
  const expected = independent.stdout.trim().split('\n').map(Number);
  const home = await mkdtemp(join(tmpdir(), 'public-traces-'));
  const results = join(home, 'results.jsonl');
  const size = ['--workers', servers, '--cpus', cpus, '--network-delay', '0ms', '--schedulers', '1'];
  await run(
    process.execPath,
    [
      new URL('../packages/cli/bin/goshawk.js', import.meta.url).pathname,
      ...['simulate', file, '--policy', 'fifo-ff', ...size, '--parallel', '1', '--save-results', results],
    ],
    BUFFER,
  );
  const [, ...lines] = (await readFile(results, 'utf8')).trim().split('\n');
  await rm(home, { recursive: true });
  const jobs = lines.map((line) => JSON.parse(line)).sort((one, other) => one.job - other.job);
  if (jobs.length !== expected.length) return Math.max(jobs.length, expected.length);
  return jobs.filter(
    ({ runtimeSeconds }, at) => Math.abs(runtimeSeconds - expected[at]) > 1e-6 * Math.max(1, expected[at]),
  ).length;
}
