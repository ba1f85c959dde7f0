import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printReport, report, result } from './bench-report.js';
import { Cluster } from './durability/cluster.js';
import { killAfterAnswer } from './durability/kill-after-answer.js';
import { oneKeyTwoClients } from './durability/one-key.js';
import { throughput } from './durability/throughput.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    keys: { type: 'string', default: '100' },
    jobs: { type: 'string', default: '2000' },
    runs: { type: 'string', default: '3' },
    folder: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const note = (line: string): void => void process.stderr.write(`${line}\n`);
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'goshawk-durability-'));
let cluster = await Cluster.start(folder);
let isGood = true;
try {
  note(`a scheduler is killed ${values.kills} times right after an answer`);
  const killed = await killAfterAnswer(cluster, Number(values.kills), (done) => {
    if (done % 20 === 0) note(`  ${done} kills`);
  });
  isGood &&= killed.lost.length === 0 && killed.doubled.length === 0 && killed.completed === killed.accepted;
  note(`  ${killed.accepted} jobs accepted, ${killed.lost.length} lost, ${killed.completed} completed`);
  note(`each of ${values.keys} keys is submitted by two clients at once`);
  await cluster.stop();
  // To one whose scheduler is away some of the keys would belong.
  cluster = await Cluster.start(join(folder, 'keys'));
  await cluster.startScheduler('one');
  await cluster.startScheduler('two');
  const keys = await oneKeyTwoClients(cluster, Number(values.keys));
  isGood &&= keys.doubled.length === 0;
  await cluster.stop();
  const written: number[] = [];
  const remembered: number[] = [];
  for (let run = 0; run < Number(values.runs); run++) {
    for (const withJournal of [true, false]) {
      const fresh = await Cluster.start(join(folder, `throughput-${run}-${withJournal}`));
      const jobsPerSecond = await throughput(fresh, withJournal, Number(values.jobs));
      note(`  ${withJournal ? 'with' : 'without'} a journal: ${jobsPerSecond.toFixed(0)} jobs/s`);
      (withJournal ? written : remembered).push(jobsPerSecond);
      await fresh.stop();
    }
  }
  const results = [
    result('schedulers killed right after an answer', 'kills', [killed.kills]),
    result('jobs accepted', 'jobs', [killed.accepted]),
    result('jobs lost', 'jobs', [killed.lost.length]),
    result('jobs completed', 'jobs', [killed.completed]),
    result('keys submitted twice that made two jobs', 'keys', [killed.doubled.length + keys.doubled.length]),
    result('throughput with the journal', 'jobs/s', written),
    result('throughput in memory', 'jobs/s', remembered),
  ];
  printReport(report('durability', results), values.json);
} finally {
  await cluster.stop();
  if (values.folder === undefined && isGood) rmSync(folder, { recursive: true, force: true });
}
process.exitCode = isGood ? 0 : 1;
