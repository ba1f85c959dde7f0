import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { inPostgres } from '@goshawk/journal';
import { percentile, printReport, report, result } from './bench-report.js';
import { SharedCluster } from './takeover/cluster.js';
import { failovers } from './takeover/failover.js';
import { outage } from './takeover/outage.js';
import { writtenDown } from './takeover/results.js';
import { rounds } from './takeover/rounds.js';

/**
 * Does anybody miss a scheduler that is lost, where schedulers share a journal? 1,000 tasks run on 200 workers for four of
 * them; one is killed, or stopped until another one has its jobs. All jobs must end, each result must count once, and
 * nothing that runs may be started again. The same is asked when PostgreSQL fails over to a synchronous standby, and when it
 * is away for a while.
 */
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    stops: { type: 'string', default: '50' },
    workers: { type: 'string', default: '200' },
    jobs: { type: 'string', default: '40' },
    failovers: { type: 'string', default: '20' },
    outage: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});

const note = (line: string): void => void process.stderr.write(`${line}\n`);
const { PostgresServer } = await inPostgres();
const folder = mkdtempSync(join(tmpdir(), 'goshawk-takeover-'));
const server = await PostgresServer.start();
let isGood = true;
let isDone = false;
try {
  const results = [];
  for (const how of ['killed', 'stopped'] as const) {
    const count = Number(how === 'killed' ? values.kills : values.stops);
    if (count === 0) continue;
    const url = await server.createDatabase(how);
    const workers = Number(values.workers);
    const shape = { schedulers: 4, workers, workersPerProcess: 25, slots: 5 };
    const jobs = Number(values.jobs);
    const cluster = await SharedCluster.start(join(folder, how), url, shape);
    const tasksPerJob = (workers * shape.slots) / jobs;
    const done = await rounds({ cluster, rounds: count, jobs, tasksPerJob, how, note });
    await cluster.stop();
    const byThemselves = cluster.endedByThemselves.length;
    const written = await writtenDown(url);
    const failed = done.exitCodes.filter((code) => code !== 0).length;
    isGood &&=
      done.notCompleted.length === 0 && done.reruns === 0 && written.doubled.length === 0 && failed === 0;
    results.push(
      result(`${how}: rounds`, 'count', [count]),
      result(`${how}: jobs`, 'jobs', [done.jobs]),
      result(`${how}: jobs that did not complete`, 'jobs', [done.notCompleted.length]),
      result(`${how}: jobs accepted without an end`, 'jobs', [written.accepted.size - written.ended.size]),
      result(`${how}: results that count twice`, 'tasks', [written.doubled.length]),
      result(`${how}: runs beyond one a task`, 'runs', [done.reruns]),
      result(`${how}: schedulers that ended by themselves`, 'count', [byThemselves]),
      result(`${how}: waiting commands`, 'count', [done.exitCodes.length]),
      result(`${how}: of them not with 0`, 'count', [failed]),
      result(`${how}: taken over after, p50`, 'ms', [percentile(done.takeoverMs, 0.5)]),
      result(`${how}: taken over after, p99`, 'ms', [percentile(done.takeoverMs, 0.99)]),
    );
    if (how === 'stopped')
      results.push(
        result('stopped: ended after it went on, p50', 'ms', [percentile(done.endedMs, 0.5)]),
        result('stopped: ended after it went on, longest', 'ms', [Math.max(...done.endedMs)]),
      );
  }
  if (Number(values.failovers) > 0) {
    const done = await failovers(join(folder, 'failovers'), Number(values.failovers), note);
    isGood &&= [done.lost, done.notCompleted, done.doubled].every(({ length }) => length === 0);
    results.push(
      result('failovers', 'count', [done.gapMs.length]),
      result('failovers: jobs accepted', 'jobs', [done.accepted]),
      result('failovers: of them lost', 'jobs', [done.lost.length]),
      result('failovers: of them not completed', 'jobs', [done.notCompleted.length]),
      result('failovers: results that count twice', 'tasks', [done.doubled.length]),
      result('failovers: no job accepted for, p50', 'ms', [percentile(done.gapMs, 0.5)]),
      result('failovers: no job accepted for, longest', 'ms', [Math.max(...done.gapMs)]),
    );
  }
  if (Number(values.outage) > 0) {
    const done = await outage(join(folder, 'outage'), 1_000 * Number(values.outage), note);
    for (const refusal of new Set(done.refusals)) note(`  refused: ${refusal}`);
    isGood &&= [done.lost, done.notCompleted, done.doubled].every(({ length }) => length === 0);
    isGood &&=
      done.reruns === 0 && done.refusals.every((refusal) => refusal.startsWith('journal-unavailable'));
    results.push(
      result('outage', 's', [Number(values.outage)]),
      result('outage: jobs accepted', 'jobs', [done.accepted]),
      result('outage: of them lost', 'jobs', [done.lost.length]),
      result('outage: of them not completed', 'jobs', [done.notCompleted.length]),
      result('outage: results that count twice', 'tasks', [done.doubled.length]),
      result('outage: what ran is run again', 'runs', [done.reruns]),
      result('outage: refusals', 'count', [done.refusals.length]),
      result('outage: from its start to its first answer', 'ms', [done.readyMs]),
      result('outage: from its start to the next job accepted', 'ms', [done.backMs]),
    );
  }
  printReport(report('takeover', results), values.json);
  isDone = true;
} finally {
  await server.remove();
  if (isGood && isDone) rmSync(folder, { recursive: true, force: true });
  else note(`logs are in ${folder}`);
}
process.exitCode = isGood ? 0 : 1;
