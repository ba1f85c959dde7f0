import { sumOf } from '@goshawk/core';
import { percentilesOf, printReport, result } from './bench-report.js';
import { Folder, note, readOptions } from './script.js';
import { FAILURES, isSound, type SoakReport, slowdownWithoutCentral, soak } from './soak/run.js';

/**
 * Checks that a cluster keeps its guarantees while its processes die. Under a steady load of jobs that use all features,
 * with open pages, every few seconds one process, including central and schedulers, is killed and restarted, or stopped
 * for up to two leases; `--every 0` leaves them alone. With `--image NAME` some programs run in a container of a local
 * image, which needs Docker or Podman. `--postgres` schedulers share a journal in a PostgreSQL server, which is killed and
 * stopped, too. In every other minute a hostile user acts. In the end each accepted job must have exactly one result, for
 * the client and in the journals, no refused submission may have been accepted, and memory must be bounded.
 */
const options = readOptions({
  minutes: 10,
  seed: 1,
  workers: 100,
  'workers-per-process': 5,
  schedulers: 4,
  postgres: 0,
  rate: 8,
  every: 2_500,
  image: undefined,
  folder: undefined,
  quiet: false,
});

const folder = new Folder('soak', options.folder);
const beganAt = performance.now();
const soaked = await soak({
  folder: folder.path,
  seed: options.seed,
  minutes: options.minutes,
  workers: options.workers,
  workersPerProcess: options['workers-per-process'],
  schedulers: options.schedulers,
  inPostgres: options.postgres,
  jobsPerSecond: options.rate,
  faultEveryMs: options.every,
  image: options.image,
  note: (line) => {
    if (options.quiet) return;
    note(`${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
  },
});
printReport('soak', resultsOf(soaked), options.json);
const isGood = isSound(soaked);
if (!isGood) {
  note(JSON.stringify(Object.fromEntries(FAILURES.map((failure) => [failure, soaked[failure]]))));
  note(`logs and journals are in ${folder.path}`);
} else folder.remove();
process.exitCode = isGood ? 0 : 1;

function resultsOf(soaked: SoakReport) {
  const sum = (counts: Readonly<Record<string, number>>): number => sumOf(Object.values(counts));
  const { kills, stops, shortMs, shortWithoutCentralMs } = soaked;
  return [
    result('jobs accepted', 'jobs', [soaked.accepted]),
    result('tasks', 'tasks', [soaked.tasks]),
    result('submissions without an answer', 'count', [soaked.unanswered]),
    result('refused submissions', 'count', [soaked.refused]),
    result('refused submissions that were accepted', 'jobs', [soaked.falselyRefused.length]),
    result('jobs lost', 'jobs', [soaked.lost.length]),
    result('jobs that did not complete', 'jobs', [soaked.notCompleted.length]),
    result('jobs with a wrong result', 'jobs', [soaked.wrong.length]),
    result('results that count twice', 'tasks', [soaked.doubled.length]),
    result('processes that exited without being killed', 'count', [soaked.unexpectedExits.length]),
    result('kills', 'count', [sum(kills)]),
    ...Object.entries(kills).map(([role, count]) => result(`kills: ${role}`, 'count', [count])),
    result('stops', 'count', [sum(stops)]),
    ...Object.entries(stops).map(([role, count]) => result(`stops: ${role}`, 'count', [count])),
    result('tasks run again', 'runs', [soaked.reruns]),
    result('longest time without the end of a job', 'ms', [soaked.longestStallMs]),
    result('slowest job', 'ms', [soaked.slowestJobMs]),
    result('short jobs with central', 'jobs', [shortMs.length]),
    ...percentilesOf('short jobs with central: ', 'ms', shortMs),
    result('short jobs without central', 'jobs', [shortWithoutCentralMs.length]),
    ...percentilesOf('short jobs without central: ', 'ms', shortWithoutCentralMs),
    result('p50 without central against with it', 'ratio', [slowdownWithoutCentral(soaked)]),
    ...percentilesOf('short jobs beside the hostile user: ', 'ms', soaked.shortBesideHostileMs),
    ...percentilesOf('short jobs in the other minutes: ', 'ms', soaked.shortInPeaceMs),
    ...soaked.shortByThirdMs.flatMap((tookMs, third) => [
      ...percentilesOf(`short jobs, third ${third + 1}: `, 'ms', tookMs),
      result(`load of the machine, third ${third + 1}`, 'processes', [soaked.machineLoads[third]!]),
    ]),
    ...Object.entries(soaked.memory).flatMap(([role, { meanMebibytes, mebibytesPerMinute, thirds }]) => [
      result(`memory of a process: ${role}`, 'MiB', [meanMebibytes]),
      result(`growth: ${role}`, 'MiB/min', [mebibytesPerMinute]),
      ...thirds.map((mebibytes, third) => result(`memory, third ${third + 1}: ${role}`, 'MiB', [mebibytes])),
    ]),
  ];
}
