import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@goshawk/client';
import { percentile, report, result, table } from './bench-report.js';
import { pairUp } from './fidelity/delays.js';
import { COMMITTED_COLUMNS, readRecordings } from './fidelity/recording.js';
import { Folder, readOptions } from './script.js';
import { startUp } from './up.js';

/**
 * Breaks down the runtime of a job with one empty task: the send time, delay and processing time of each message, and the
 * commits of its owner's journal. The journal is on disk in one run, and in memory, where a sync costs nothing, in the other.
 * Jobs run one at a time; numbers are medians.
 */
const WARM_UP = 100;
const IN_MEMORY = '/dev/shm';
const RECORDER = new URL('./fidelity/recorder.js', import.meta.url);

const options = readOptions({
  jobs: 300,
  policy: 'goshawk',
  client: undefined,
});

/** An event that occurs at most once in each job. Times are ms since its submission. */
interface Hop {
  readonly name: string;
  readonly times: number;
  readonly beganMs: number[];
  readonly onItsWayMs: number[];
  readonly handledMs: number[];
}

interface Event {
  readonly name: string;
  readonly at: number;
  readonly arrivedAt: number;
  readonly tookMs: number;
}

async function runJobs(url: string): Promise<void> {
  await using cluster = await connect(url);
  for (let job = -WARM_UP; job < options.jobs; job++) {
    await (await cluster.submit({ name: 'single', tasks: [{ sleep: 0 }] })).wait();
  }
}

async function record(place: string): Promise<readonly Event[]> {
  using folder = new Folder('hops', undefined, place);
  const recordings = join(folder.path, 'recordings');
  mkdirSync(recordings);
  const recorder = new URL(RECORDER);
  recorder.searchParams.set('folder', recordings);
  const recorded = { NODE_OPTIONS: `--import=${recorder.href}` };
  const shape = ['--policy', options.policy, '--workers', '2', '--cpus', '4', '--schedulers', '1'];
  {
    await using up = await startUp(folder.path, shape, recorded);
    const self = fileURLToPath(import.meta.url);
    const client = spawn(process.execPath, [self, '--client', up.url, '--jobs', `${options.jobs}`], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, XDG_STATE_HOME: folder.path, ...recorded },
    });
    const [code] = await once(client, 'exit');
    if (code !== 0) throw new Error(`the client has ended with ${code}`);
  }
  // Recordings are written when processes end.
  return eventsOf(recordings);
}

function eventsOf(folder: string): Event[] {
  const recordings = readRecordings(folder);
  const messages = pairUp(recordings).map(({ type, sentAt, handledAt, handlingMs }) => {
    return { name: type, at: sentAt, arrivedAt: handledAt, tookMs: handlingMs };
  });
  const commits = recordings.flatMap(({ commits: rows }) =>
    Array.from({ length: rows.length / COMMITTED_COLUMNS }, (_, row) => {
      const [at, tookMs] = [rows[COMMITTED_COLUMNS * row]!, rows[COMMITTED_COLUMNS * row + 1]!];
      return { name: 'commit', at, arrivedAt: at + tookMs, tookMs: 0 };
    }),
  );
  return [...messages, ...commits].sort((one, other) => one.at - other.at);
}

/** @returns the events of most jobs in order of their start, and the number of jobs with these events */
function hopsOf(events: readonly Event[]): Hop[] {
  const isSubmission = ({ name }: Event) => name === 'submit';
  const first = events.findIndex(isSubmission);
  const jobs: Event[][] = [];
  for (const event of events.slice(first)) {
    if (isSubmission(event)) jobs.push([]);
    jobs.at(-1)!.push(event);
  }
  const measured = jobs.slice(WARM_UP);
  const hops = new Map<string, { count: number } & Omit<Hop, 'name' | 'times'>>();
  for (const job of measured) {
    const seen = new Map<string, number>();
    for (const { name, at, arrivedAt, tookMs } of job) {
      const before = seen.get(name) ?? 0;
      seen.set(name, before + 1);
      const shown = before === 0 ? name : `${name} (${before + 1})`;
      if (!hops.has(shown)) hops.set(shown, { count: 0, beganMs: [], onItsWayMs: [], handledMs: [] });
      const hop = hops.get(shown)!;
      hop.count++;
      hop.beganMs.push(at - job[0]!.at);
      hop.onItsWayMs.push(arrivedAt - at);
      hop.handledMs.push(tookMs);
    }
  }
  return [...hops]
    .map(([name, { count, ...spreads }]) => ({ name, times: count / measured.length, ...spreads }))
    .filter(({ times }) => times >= 0.5)
    .sort((one, other) => percentile(one.beganMs, 0.5) - percentile(other.beganMs, 0.5));
}

function show(title: string, hops: readonly Hop[]): void {
  const ms = (of: readonly number[]) => percentile(of, 0.5).toFixed(2);
  const rows = hops.map(({ name, times, beganMs, onItsWayMs, handledMs }) => [
    name,
    times.toFixed(2),
    ms(beganMs),
    ms(onItsWayMs),
    name.startsWith('commit') ? '' : ms(handledMs),
  ]);
  const head = [title, 'a job', 'begins, ms', 'takes, ms', 'handled in, ms'];
  process.stdout.write(`${table([head, ...rows])}\n\n`);
}

async function measure(): Promise<void> {
  const places = { 'on disk': tmpdir(), ...(existsSync(IN_MEMORY) ? { 'in memory': IN_MEMORY } : {}) };
  const results = [];
  for (const [title, place] of Object.entries(places)) {
    const hops = hopsOf(await record(place));
    if (!options.json) show(`journal ${title}`, hops);
    for (const { name, times, beganMs, onItsWayMs, handledMs } of hops) {
      const named = `journal ${title}, ${name}`;
      results.push(result(`${named}, times a job`, '', [times]));
      results.push(result(`${named}, begins`, 'ms', [percentile(beganMs, 0.5)]));
      results.push(result(`${named}, takes`, 'ms', [percentile(onItsWayMs, 0.5)]));
      results.push(result(`${named}, handled in`, 'ms', [percentile(handledMs, 0.5)]));
    }
  }
  if (options.json) process.stdout.write(`${JSON.stringify(report('hops', results))}\n`);
}

if (options.client === undefined) await measure();
else await runJobs(options.client);
