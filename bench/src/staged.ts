/**
 * Runs jobs with stages of commands on 20 workers with cores, memory and a custom resource, live and simulated, and
 * compares the percentiles of completion times under each policy. In a further run a process of workers is killed every
 * 5 s: no result may be missing or counted twice, and according to files that the tasks write, no stage may begin
 * before its predecessors have ended.
 *
 *     node bench/dist/staged.js [--jobs 40] [--every 3000] [--seeds 1] [--policies all|NAME,…] [--killed carbyne,drf] [--json]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CARBYNE_POLICIES } from '@goshawk/papers';
import type { Comparison } from '@goshawk/report';
import { type BenchResult, percentile, printReport, result } from './bench-report.js';
import { GOSHAWK } from './daemons.js';
import { Folder, note, readOptions } from './script.js';
import { stagedJobs, WORKER_RESOURCES, WORKER_SLOTS } from './staged/jobs.js';
import { type LiveRun, runLive } from './staged/live.js';

const options = readOptions({
  jobs: 40,
  every: 3_000,
  workers: 20,
  seed: 1,
  policies: 'all',
  killed: ['carbyne', 'drf'],
});

const { seed, workers } = options;
const jobs = stagedJobs(seed, options.jobs, options.every);
const policies = options.policies === 'all' ? Object.keys(CARBYNE_POLICIES) : options.policies.split(',');
const FRACTIONS = [0.5, 0.9] as const;
const KILL_EVERY_MS = 5_000;

using folder = new Folder('staged');
const results: BenchResult[] = [];
const wrong: string[] = [];
for (const policy of policies) {
  const live = await measured(policy, 0);
  const simulated = await simulate(live.journal, policy);
  for (const fraction of FRACTIONS) {
    const inLive = percentile(live.jctSeconds, fraction);
    const off = simulated.map((each) => 100 * (each[fraction] / inLive - 1));
    results.push(result(`${policy}, p${fraction * 100}: simulated ÷ live − 1`, '%', off));
  }
}
for (const policy of options.killed) await measured(policy, KILL_EVERY_MS);
printReport('staged', results, options.json);
for (const line of wrong) note(line);
process.exitCode = wrong.length > 0 ? 1 : 0;

async function measured(policy: string, killEveryMs: number): Promise<LiveRun> {
  const run = await runLive({
    policy,
    jobs,
    workers,
    // Kills one process at a time.
    workersPerProcess: killEveryMs > 0 ? 1 : 5,
    killEveryMs,
    seed,
    folder: join(folder.path, `${policy}-${killEveryMs}`),
    note,
  });
  const { jctSeconds, marks, kills, lost, doubled, notCompleted } = run;
  const seen = [
    `p50 ${percentile(jctSeconds, 0.5).toFixed(2)} s`,
    `p90 ${percentile(jctSeconds, 0.9).toFixed(2)} s`,
    `${marks.begun} attempts, ${kills} kills, ${lost} lost, ${doubled.length} doubled, ${notCompleted.length} not completed`,
    `${marks.wrong.length} marks wrong`,
  ];
  note(`${policy}${kills > 0 ? ', killed' : ''}: ${seen.join(', ')}`);
  const bad = [...notCompleted.map((id) => `${id} did not complete`), ...doubled, ...marks.wrong];
  wrong.push(
    ...bad.map((line) => `${policy}: ${line}`),
    ...(lost > 0 ? [`${policy}: ${lost} results lost`] : []),
  );
  return run;
}

/**
 * Simulates the same jobs at the same times with the task run times from the scheduler's journal. The order of tasks
 * that end within a millisecond moves p90 by a tenth, so the simulation is repeated with new random delays.
 */
async function simulate(
  journal: string,
  policy: string,
): Promise<readonly Readonly<Record<(typeof FRACTIONS)[number], number>>[]> {
  const trace = `${journal}.jsonl`;
  writeFileSync(trace, await printed(['journal', 'export', journal]));
  const amounts = Object.entries(WORKER_RESOURCES).map(([name, amount]) => `${name}=${amount}`);
  const has = ['--workers', `${workers}`, '--cpus', `${WORKER_SLOTS}`, '--resources', amounts.join(',')];
  const one = ['--schedulers', '1', '--estimator', 'given', '--durations', 'task', '--quiet', '--json'];
  const drawn = ['--network-delay', 'normal:0.5ms,0.2ms', '--seeds', '9'];
  const made = JSON.parse(await printed(['simulate', trace, '--policy', policy, ...has, ...one, ...drawn]));
  return (made as Comparison).runs.map(({ runtimeSeconds }) => {
    const { p50, p90 } = runtimeSeconds.all;
    return { 0.5: p50!, 0.9: p90! };
  });
}

async function printed(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [GOSHAWK, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const all = await text(child.stdout);
  const [code] = await exit;
  if (code !== 0) throw new Error(`goshawk ${args[0]} ended with ${code}`);
  return all;
}
