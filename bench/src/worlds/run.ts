import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configureGenerator, type TraceJob } from '@goshawk/traces';
import { percentile } from '../bench-report.js';
import { GOSHAWK } from '../daemons.js';
import { note } from '../script.js';
import { ALONE, BEST, type Bound, type End, type World } from './rows.js';

/** A row of the table. */
export interface Measured {
  readonly world: string;
  readonly statistic: string;
  /** Medians over seeds, by column: goshawk, then the others. */
  readonly values: ReadonlyMap<string, number>;
  readonly bound: Bound;
  readonly limit: number;
  readonly holds: boolean;
}

/** Runs one world under all of its policies. @param folder for intermediate files */
export async function measureWorld(world: World, seeds: number, folder: string): Promise<Measured[]> {
  const runs: ReadonlyMap<string, readonly End[]>[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    runs.push(await simulate(world, seed, folder));
    note(`${world.name}: seed ${seed}`);
  }
  const columns = [...runs[0]!.keys()];
  return world.rows.map(({ name, of, bound }) => {
    const values = new Map(
      columns.map((column) => [
        column,
        percentile(
          runs.map((run) => of(run.get(column)!)),
          0.5,
        ),
      ]),
    );
    const limit = limitOf(bound, values);
    return {
      world: world.name,
      statistic: name,
      values,
      bound,
      limit,
      holds: values.get('goshawk')! <= limit,
    };
  });
}

function limitOf(bound: Bound, values: ReadonlyMap<string, number>): number {
  if ('atMost' in bound) return bound.atMost;
  if (bound.of !== BEST) return bound.times * values.get(bound.of)!;
  const others = [...values].filter(([column]) => column !== 'goshawk').map(([, value]) => value);
  return bound.times * Math.min(...others);
}

/** Runs the jobs under each policy. @returns their ends by policy */
async function simulate(world: World, seed: number, folder: string): Promise<Map<string, readonly End[]>> {
  const { cluster, specialists, alone } = world;
  const workload = world.workload(seed);
  const ends = await ran(workload, ['goshawk', ...specialists], cluster, seed, folder);
  if (alone === undefined) return ends;
  const own = jobsOf(workload).filter(({ user }) => user === alone.user);
  const byThemselves = await ran(own, ['goshawk'], alone.cluster, seed, folder);
  return ends.set(ALONE, byThemselves.get('goshawk')!);
}

function jobsOf(workload: string | readonly TraceJob[]): readonly TraceJob[] {
  return typeof workload === 'string' ? [...configureGenerator(workload).generate()] : workload;
}

/** A line of `--save-results`. */
interface SavedJob {
  readonly policy: string;
  readonly job: number;
  readonly class: End['class'];
  readonly outcome: string;
  readonly submitSeconds: number;
  readonly runtimeSeconds: number;
}

/** Simulates a workload under each policy. @param cluster options of `goshawk simulate`; @returns the ends by policy */
async function ran(
  workload: string | readonly TraceJob[],
  policies: readonly string[],
  cluster: readonly string[],
  seed: number,
  folder: string,
): Promise<Map<string, readonly End[]>> {
  const results = join(folder, 'results.jsonl');
  const source = typeof workload === 'string' ? workload : written(workload, join(folder, 'jobs.jsonl'));
  await goshawk([
    ...['simulate', source, '--policy', policies.join(','), ...cluster, '--seed', `${seed}`],
    // A live cluster without options learns the cutoff.
    ...['--cutoff', 'learned'],
    ...['--save-results', results, '--quiet'],
  ]);
  const jobs = jobsOf(workload);
  const lines = readFileSync(results, 'utf8').trimEnd().split('\n').slice(1);
  const ends = new Map<string, End[]>();
  for (const line of lines) {
    const saved = JSON.parse(line) as SavedJob;
    // Runs come in the order of the policies.
    const own = ends.get(saved.policy) ?? [];
    ends.set(saved.policy, own);
    own.push({
      job: jobs[saved.job - 1]!,
      class: saved.class,
      isCompleted: saved.outcome === 'completed',
      submitSeconds: saved.submitSeconds,
      runtimeSeconds: saved.runtimeSeconds,
    });
  }
  return new Map([...ends].map(([policy, each]) => [policy.split(/[: ]/)[0]!, each]));
}

function written(jobs: readonly TraceJob[], file: string): string {
  const lines = jobs.map((job) => ({ ...job, durationsSeconds: [...job.durationsSeconds] }));
  const all = [{ schema: 'goshawk.trace/1' }, ...lines].map((each) => JSON.stringify(each));
  writeFileSync(file, `${all.join('\n')}\n`);
  return file;
}

async function goshawk(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [GOSHAWK, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`goshawk ${args.join(' ')} ended with ${code}`);
}
