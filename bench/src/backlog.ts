import { performance } from 'node:perf_hooks';
import { runGoshawk } from '@goshawk/cli/testing';
import { type Cluster, connect } from '@goshawk/client';
import { type BenchResult, percentilesOf, printReport, result } from './bench-report.js';
import { inLanes } from './daemons.js';
import { processorTime, residentByKind } from './proc.js';
import { Folder, note, readOptions } from './script.js';
import { startUp } from './up.js';

/**
 * Measures a live cluster while more and more jobs wait: the memory of each role, the answers of the commands that people
 * use, and whether a scheduler is reported as away. Processor time counts on a busy machine, and elapsed time on an idle one.
 *
 *     npm run bench -- backlog --waiting 0,10000,100000
 */
const options = readOptions({
  waiting: [0, 10_000, 100_000],
  workers: 100,
  schedulers: 2,
  tasks: 1,
  rounds: 3,
});
const COMMANDS = ['jobs', 'why', 'top'] as const;
const ROLES = ['central', 'scheduler', 'worker'] as const;
const IN_FLIGHT = 64;
const HOUR_MS = 3_600_000;

const results: BenchResult[] = [];
let away = 0;
using folder = new Folder('backlog');
const shape = ['--workers', `${options.workers}`, '--schedulers', `${options.schedulers}`];
await using up = await startUp(folder.path, shape);
const cluster = await connect(up.url, { requestTimeoutMs: 60_000 });
let submitted = 0;
for (const count of options.waiting) {
  const latencies = await submit(cluster, count + options.workers - submitted);
  submitted = Math.max(submitted, count + options.workers);
  const at = `${count} waiting`;
  if (latencies.length > 0) results.push(...percentilesOf(`${at}: submit `, 'ms', latencies));
  for (const command of COMMANDS) await measure(command, at);
  const memory = residentByKind(up.pid);
  for (const role of ROLES) {
    const each = memory.get(role) ?? [];
    if (each.length > 0) results.push(result(`${at}: largest ${role}`, 'MiB', [Math.max(...each)]));
  }
}
await cluster.close();
results.push(result('schedulers reported as away', '', [away]));
printReport('backlog', results, options.json);
process.exitCode = away === 0 ? 0 : 1;

/** Submits jobs that take an hour. @returns the latencies, ms */
async function submit(to: Cluster, jobs: number): Promise<number[]> {
  const latencies: number[] = [];
  await inLanes(jobs, IN_FLIGHT, async () => {
    const began = performance.now();
    await to.submit({ name: 'wait', tasks: { count: options.tasks, run: { sleep: HOUR_MS } } });
    latencies.push(performance.now() - began);
    if (latencies.length % 5_000 === 0) note(`  ${latencies.length} of ${jobs} jobs submitted`);
  });
  return latencies;
}

/** Runs the command, and adds its elapsed time and the processor time that the cluster spends meanwhile. */
async function measure(command: (typeof COMMANDS)[number], at: string): Promise<void> {
  const elapsed: number[] = [];
  const spent = ROLES.map((): number[] => []);
  for (let round = 0; round < options.rounds; round++) {
    const before = processorTime(up.pid);
    const began = performance.now();
    const { exitCode, stdout, stderr } = await runGoshawk([command, '--json'], {
      GOSHAWK_CLUSTER: up.url,
      XDG_STATE_HOME: folder.path,
    });
    elapsed.push(performance.now() - began);
    const after = processorTime(up.pid);
    ROLES.forEach((role, i) => void spent[i]!.push((after.get(role) ?? 0) - (before.get(role) ?? 0)));
    if (exitCode !== 0) throw new Error(`goshawk ${command} exited with ${exitCode}: ${stderr}`);
    if (/no answer from|"silent":\["/.test(stdout + stderr)) away++;
  }
  results.push(result(`${at}: ${command}`, 'ms', elapsed));
  ROLES.forEach((role, i) => void results.push(result(`${at}: ${command}, CPU of ${role}`, 'ms', spent[i]!)));
  note(`  ${at}: ${command} ${elapsed.map((ms) => ms.toFixed(0)).join(', ')} ms`);
}
