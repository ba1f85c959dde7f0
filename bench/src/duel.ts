import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { printReport, report, result } from './bench-report.js';

/**
 * Is this build's simulator faster than another one's? A machine's speed changes by more within a minute than most changes to
 * the code are worth, so both builds simulate the same workload in one process, a slice of some tens of milliseconds each
 * in turn, and what counts is the ratio. A round is a process of its own, since an engine compiles a little differently
 * each time; who begins changes from round to round.
 */
const HERE = fileURLToPath(new URL('../..', import.meta.url));

const { values } = parseArgs({
  options: {
    /** Another checkout, built. */
    with: { type: 'string' },
    policy: { type: 'string', default: 'hawk' },
    workload: { type: 'string', default: 'google-like:jobs=6000' },
    workers: { type: 'string', default: '15000' },
    cutoff: { type: 'string', default: '1129' },
    rounds: { type: 'string', default: '6' },
    json: { type: 'boolean', default: false },
    /** Two builds in the order in which they run: what a round's process is told. */
    round: { type: 'string', multiple: true, default: [] },
  },
});

interface Contestant {
  /** @returns whether there is more */
  slice(): Promise<boolean>;
  events(): number;
  spentMs: number;
}

async function contestant(tree: string): Promise<Contestant> {
  const load = (name: string) => import(pathToFileURL(resolve(tree, `packages/${name}/dist/index.js`)).href);
  const core: typeof import('@goshawk/core') = await load('core');
  const simulator: typeof import('@goshawk/simulator') = await load('simulator');
  const traces: typeof import('@goshawk/traces') = await load('traces');
  const workload = await traces.openWorkload(values.workload);
  const preset = core.PRESETS[values.policy as keyof typeof core.PRESETS];
  const simulation = new simulator.Simulation({
    workers: Number(values.workers),
    slots: 1,
    capacity: core.NO_RESOURCES,
    schedulers: 10,
    seed: 1,
    settings: {
      policy: {
        ...core.DEFAULT_POLICY,
        preset,
        cutoffMs: Number(values.cutoff) * 1_000,
        estimator: 'given',
        stealRetry: 'never',
        cancel: 'lazy',
        shortPartition: 0.17,
      },
      timings: core.RELIABLE_TIMINGS,
    },
  });
  async function* arrivals() {
    for await (const job of workload.jobs()) {
      const spec = traces.jobSpecOf(job, traces.meanOf(job.durationsSeconds) * 1_000);
      yield { submitMs: job.submitSeconds * 1_000, spec };
    }
  }
  const slices = simulation.run(arrivals())[Symbol.asyncIterator]();
  return {
    slice: async () => (await slices.next()).done !== true,
    events: () => simulation.events,
    spentMs: 0,
  };
}

/** @returns ns an event, of each */
async function round(trees: readonly string[]): Promise<number[]> {
  const all: Contestant[] = [];
  for (const tree of trees) all.push(await contestant(tree));
  const left = new Set(all);
  while (left.size > 0) {
    for (const one of left) {
      const began = performance.now();
      const goesOn = await one.slice();
      one.spentMs += performance.now() - began;
      if (!goesOn) left.delete(one);
    }
  }
  return all.map((one) => (1e6 * one.spentMs) / one.events());
}

function rounds(other: string): void {
  const nsHere: number[] = [];
  const nsThere: number[] = [];
  const options = (['policy', 'workload', 'workers', 'cutoff'] as const).flatMap((name) => [
    `--${name}`,
    values[name],
  ]);
  for (let index = 0; index < Number(values.rounds); index++) {
    const trees = index % 2 === 0 ? [HERE, other] : [other, HERE];
    const order = trees.flatMap((tree) => ['--round', tree]);
    const args = [fileURLToPath(import.meta.url), ...options, ...order];
    const told = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as number[];
    nsHere.push(told[index % 2]!);
    nsThere.push(told[1 - (index % 2)]!);
    process.stderr.write(
      `  ${nsHere.at(-1)!.toFixed(0)} ns an event here, ${nsThere.at(-1)!.toFixed(0)} there\n`,
    );
  }
  const ratios = nsHere.map((ns, index) => ns / nsThere[index]!);
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  const variance =
    ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / Math.max(1, ratios.length - 1);
  const results = [
    result('here', 'ns an event', nsHere),
    result('there', 'ns an event', nsThere),
    result('here over there, mean', '', [mean]),
    result('standard error of that', '', [Math.sqrt(variance / ratios.length)]),
  ];
  printReport(report('duel', results), values.json);
}

if (values.round.length > 0) process.stdout.write(JSON.stringify(await round(values.round)));
else if (values.with === undefined) {
  process.stderr.write(
    'say which build to compare with: --with FOLDER, a checkout in which npm run build was run\n',
  );
  process.exitCode = 2;
} else rounds(resolve(values.with));
