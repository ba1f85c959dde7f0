import { connect } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { PostgresServer } from '@goshawk/journal/testing';
import { type BenchResult, percentile, printReport, result } from './bench-report.js';
import { processorTime } from './proc.js';
import { inTurns } from './rounds.js';
import { Folder, note, readOptions } from './script.js';
import { startUp } from './up.js';

/**
 * How many tasks that do nothing does a cluster get done in a second, as its client sees it? 20,000 of them in 200 jobs
 * of 100 over 8 slots, through a cluster as `goshawk up` starts it; with and without series of tiny tasks, in turn,
 * since the machine is never the same for long.
 */
const JOBS = 200;
const TASKS = 100;
const WAYS = {
  'with series': [],
  'without series': ['--series', 'none'],
  /** With series as well, on the same disk; where it is asked for. */
  'in PostgreSQL': [],
} as const;
/** One after the other, each of one task. */
const SINGLE_JOBS = 200;
type Way = keyof typeof WAYS;

const options = readOptions({
  runs: 3,
  schedulers: 2,
  policy: 'goshawk',
  ways: ['with series', 'without series'],
});

interface Measured {
  readonly perSecond: number;
  /** From the submission of a single job to its end. ms */
  readonly singleMs: readonly number[];
  /** Of central, of schedulers, and of workers, for each task. */
  readonly processorMs: ReadonlyMap<string, number>;
}

async function measureOnce(way: Way): Promise<Measured> {
  using folder = new Folder('tiny-tasks');
  const { initStore } = await inPostgres();
  const server = way === 'in PostgreSQL' ? await PostgresServer.start() : undefined;
  const journal = await server?.createDatabase('jobs');
  if (journal !== undefined) await initStore(journal);
  const environment = journal === undefined ? {} : { GOSHAWK_JOURNAL: journal };
  const shape = ['--policy', options.policy, '--workers', '8', '--schedulers', `${options.schedulers}`];
  try {
    await using up = await startUp(folder.path, [...shape, ...WAYS[way]], environment);
    await using cluster = await connect(up.url);
    const run = async (jobs: number): Promise<number> => {
      const began = performance.now();
      const submitted = Array.from({ length: jobs }, async () => {
        const job = await cluster.submit({ name: 'tiny', tasks: { count: TASKS, run: { sleep: 0 } } });
        await job.wait();
      });
      await Promise.all(submitted);
      return (jobs * TASKS * 1_000) / (performance.now() - began);
    };
    // The first ones find cold code.
    await run(JOBS / 10);
    const before = processorTime(up.pid);
    const perSecond = await run(JOBS);
    const spent = [...processorTime(up.pid)].map(
      ([kind, ms]) => [kind, (ms - (before.get(kind) ?? 0)) / (JOBS * TASKS)] as const,
    );
    const singleMs: number[] = [];
    for (let i = 0; i < SINGLE_JOBS; i++) {
      const began = performance.now();
      await (await cluster.submit({ name: 'single', tasks: [{ sleep: 0 }] })).wait();
      singleMs.push(performance.now() - began);
    }
    return { perSecond, singleMs, processorMs: new Map(spent) };
  } finally {
    await server?.remove();
  }
}

const ways = options.ways as readonly Way[];
const measured = await inTurns(ways, options.runs, async (way) => {
  const once = await measureOnce(way);
  const shares = [...once.processorMs].map(([kind, ms]) => `${kind} ${(1_000 * ms).toFixed(0)}`);
  note(`  ${way}: ${once.perSecond.toFixed(0)} tasks/s; µs a task: ${shares.join(', ')}`);
  return once;
});
const results: BenchResult[] = [];
for (const [way, runs] of measured) {
  const perSecond = runs.map((run) => run.perSecond);
  results.push(
    result(way, 'tasks/s', perSecond),
    result(`${way}, best`, 'tasks/s', [Math.max(...perSecond)]),
  );
  const single = runs.map(({ singleMs }) => percentile(singleMs, 0.5));
  results.push(result(`${way}: one job at a time, p50`, 'ms', single));
  for (const kind of ['central', 'scheduler', 'worker']) {
    const micros = runs.map(({ processorMs }) => 1_000 * (processorMs.get(kind) ?? Number.NaN));
    results.push(result(`${way}: processor time of ${kind}`, 'µs/task', micros));
  }
}
printReport('tiny-tasks', results, options.json);
