import { join } from 'node:path';
import { PostgresServer } from '@goshawk/journal/testing';
import { percentilesOf, printReport, result } from './bench-report.js';
import { Folder, note, readOptions } from './script.js';
import { SharedCluster } from './takeover/cluster.js';
import { failovers } from './takeover/failover.js';
import { outage } from './takeover/outage.js';
import { readSharedJournals } from './takeover/results.js';
import { rounds } from './takeover/rounds.js';

/**
 * Measures the effect of a lost scheduler if schedulers share a journal. Four schedulers run 1,000 tasks on 200
 * workers; one is killed, or stopped until another one has its jobs. All jobs must end, each result must count once,
 * and no running task may be restarted. The same is checked when PostgreSQL fails over to a synchronous standby, and
 * when it is down for a while.
 */
const options = readOptions({
  kills: 50,
  stops: 50,
  workers: 200,
  jobs: 40,
  failovers: 20,
  outage: 60,
});

const folder = new Folder('takeover');
const server = await PostgresServer.start();
let isGood = true;
let isDone = false;
try {
  const results = [];
  for (const how of ['killed', 'stopped'] as const) {
    const count = how === 'killed' ? options.kills : options.stops;
    if (count === 0) continue;
    const url = await server.createDatabase(how);
    const { workers, jobs } = options;
    const shape = { schedulers: 4, workers, workersPerProcess: 25, slots: 5 };
    const cluster = await SharedCluster.start(join(folder.path, how), url, shape);
    const tasksPerJob = (workers * shape.slots) / jobs;
    const done = await rounds({ cluster, rounds: count, jobs, tasksPerJob, how, note });
    await cluster.stop();
    const byThemselves = cluster.unexpectedExits.length;
    const written = await readSharedJournals(url);
    const failed = done.waits.filter((failure) => failure !== '').length;
    isGood &&=
      done.notCompleted.length === 0 && done.reruns === 0 && written.doubled.length === 0 && failed === 0;
    results.push(
      result(`${how}: rounds`, 'count', [count]),
      result(`${how}: jobs`, 'jobs', [done.jobs]),
      result(`${how}: jobs that did not complete`, 'jobs', [done.notCompleted.length]),
      result(`${how}: jobs accepted without an end`, 'jobs', [written.accepted.size - written.ended.size]),
      result(`${how}: results that count twice`, 'tasks', [written.doubled.length]),
      result(`${how}: runs beyond one per task`, 'runs', [done.reruns]),
      result(`${how}: schedulers that exited without being killed`, 'count', [byThemselves]),
      result(`${how}: waiting commands`, 'count', [done.waits.length]),
      result(`${how}: waiting commands that failed`, 'count', [failed]),
      ...percentilesOf(`${how}: taken over after, `, 'ms', done.takeoverMs),
    );
    if (how === 'stopped')
      results.push(
        ...percentilesOf('stopped: exited after it continued, ', 'ms', done.endedMs, [50]),
        result('stopped: exited after it continued, longest', 'ms', [Math.max(...done.endedMs)]),
      );
  }
  if (options.failovers > 0) {
    const done = await failovers(join(folder.path, 'failovers'), options.failovers, note);
    isGood &&= [done.lost, done.notCompleted, done.doubled].every(({ length }) => length === 0);
    results.push(
      result('failovers', 'count', [done.gapMs.length]),
      result('failovers: jobs accepted', 'jobs', [done.accepted]),
      result('failovers: jobs lost', 'jobs', [done.lost.length]),
      result('failovers: jobs not completed', 'jobs', [done.notCompleted.length]),
      result('failovers: results that count twice', 'tasks', [done.doubled.length]),
      ...percentilesOf('failovers: no job accepted for, ', 'ms', done.gapMs, [50]),
      result('failovers: no job accepted for, longest', 'ms', [Math.max(...done.gapMs)]),
    );
  }
  if (options.outage > 0) {
    const done = await outage(join(folder.path, 'outage'), 1_000 * options.outage, note);
    for (const refusal of new Set(done.refusals)) note(`  refused: ${refusal}`);
    isGood &&= [done.lost, done.notCompleted, done.doubled].every(({ length }) => length === 0);
    isGood &&=
      done.reruns === 0 && done.refusals.every((refusal) => refusal.startsWith('journal-unavailable'));
    results.push(
      result('outage', 's', [options.outage]),
      result('outage: jobs accepted', 'jobs', [done.accepted]),
      result('outage: jobs lost', 'jobs', [done.lost.length]),
      result('outage: jobs not completed', 'jobs', [done.notCompleted.length]),
      result('outage: results that count twice', 'tasks', [done.doubled.length]),
      result('outage: running tasks that ran again', 'runs', [done.reruns]),
      result('outage: refusals', 'count', [done.refusals.length]),
      result('outage: from its start to its first answer', 'ms', [done.readyMs]),
      result('outage: from its start to the next job accepted', 'ms', [done.backMs]),
    );
  }
  printReport('takeover', results, options.json);
  isDone = true;
} finally {
  await server.remove();
  if (isGood && isDone) folder.remove();
  else note(`logs are in ${folder.path}`);
}
process.exitCode = isGood ? 0 : 1;
