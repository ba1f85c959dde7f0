import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, connect } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { PostgresServer } from '@goshawk/journal/testing';
import { type BenchResult, printReport, result } from './bench-report.js';
import { type Mapped, type Mapping, map } from './map/mapper.js';
import { anonymousMebibytes } from './proc.js';
import { RealCluster } from './real-cluster.js';
import { inTurns } from './rounds.js';
import { Folder, note, readOptions } from './script.js';

/**
 * Compares `map` with one job of as many tasks (`--rounds`). Measures the memory of client and scheduler over many inputs
 * of which one in 1,000 fails (`--inputs`), and the number of repeated calls if a client is killed midway and restarted
 * with its key (`--killed`). Journals are in a folder or in PostgreSQL (`--journal postgres`).
 */
const COMPARED = 5_000;
const FAIL_EVERY = 1_000;
const TENTHS = 10;

/** The module takes `ms`, notes its inputs in the file `calls`, and fails on some of them. */
const moduleText = (calls: string, ms: number) => `import { appendFileSync } from 'node:fs';
const nothing = new Int32Array(new SharedArrayBuffer(4));
export default (n) => {
  if (${ms} > 0) Atomics.wait(nothing, 0, 0, ${ms});
  ${calls === '' ? '' : `appendFileSync(${JSON.stringify(calls)}, n + '\\n');`}
  if (n % ${FAIL_EVERY} === 0) throw new Error('no ' + n);
  return 2 * n;
};
export const always = () => {
  Atomics.wait(nothing, 0, 0, ${ms});
  return 1;
};
`;

async function compare(cluster: Cluster, module: string, rounds: number): Promise<BenchResult[]> {
  const ways = {
    'one job': async () => {
      const tasks = { count: COMPARED, run: { module, export: 'always' } };
      await (await cluster.submit({ name: 'one', tasks })).wait();
    },
    'one job, its values read': async () => {
      const tasks = Array.from({ length: COMPARED }, (_, input) => ({ module, export: 'always', input }));
      await (await cluster.submit({ name: 'one', tasks })).result();
    },
    map: async () => {
      let read = 0;
      for await (const _ of cluster.map({ module, export: 'always' }, Array(COMPARED).keys())) read++;
      if (read !== COMPARED) throw new Error(`${read} results of ${COMPARED} inputs`);
    },
  };
  const perSecond = async (way: keyof typeof ways): Promise<number> => {
    const began = performance.now();
    await ways[way]();
    return (1_000 * COMPARED) / (performance.now() - began);
  };
  const names = Object.keys(ways) as (keyof typeof ways)[];
  for (const way of names) await perSecond(way);
  const measured = await inTurns(names, rounds, perSecond);
  const ratios = measured.get('map')!.map((rate, round) => rate / measured.get('one job')![round]!);
  return [
    ...names.map((way) => result(`${COMPARED} items of 1 ms: ${way}`, '1/s', measured.get(way)!)),
    result('map ÷ one job', 'ratio', ratios),
  ];
}

async function overMany(mapping: Mapping, schedulerPid: number): Promise<BenchResult[]> {
  const seen: (Mapped & { readonly scheduler: number })[] = [];
  const last = await map(mapping, (report) => {
    seen.push({ ...report, scheduler: anonymousMebibytes(schedulerPid) });
    const { values, errors, wrong, mebibytes, ms } = report;
    if ((values + errors) % 50_000 === 0 || report.isDone)
      note(
        `${values + errors} results (${errors} errors, ${wrong} wrong) in ${(ms / 1_000).toFixed(0)} s: client ${mebibytes.toFixed(0)} MiB, ` +
          `scheduler ${seen.at(-1)!.scheduler.toFixed(0)} MiB`,
      );
  });
  const peaks = (of: (one: (typeof seen)[number]) => number) =>
    Array.from({ length: TENTHS }, (_, tenth) => {
      const [first, end] = [(seen.length * tenth) / TENTHS, (seen.length * (tenth + 1)) / TENTHS];
      return Math.max(...seen.slice(Math.floor(first), Math.max(Math.floor(first) + 1, end)).map(of));
    });
  const name = `${mapping.inputs} inputs`;
  return [
    result(`${name}: values`, 'count', [last.values]),
    result(`${name}: errors`, 'count', [last.errors]),
    result(`${name}: wrong or twice`, 'count', [last.wrong]),
    result(`${name}: speed`, '1/s', [(1_000 * mapping.inputs) / last.ms]),
    result(
      `${name}: client, most in each tenth`,
      'MiB',
      peaks((one) => one.mebibytes),
    ),
    result(
      `${name}: scheduler, most in each tenth`,
      'MiB',
      peaks((one) => one.scheduler),
    ),
  ];
}

async function killedMidway(mapping: Mapping, calls: string): Promise<BenchResult[]> {
  const { inputs } = mapping;
  await map(mapping, undefined, ({ values, errors }) => values + errors >= inputs / 2);
  const last = await map(mapping);
  const called = readFileSync(calls, 'utf8').trimEnd().split('\n');
  return [
    result('killed midway: values', 'count', [last.values]),
    result('killed midway: errors', 'count', [last.errors]),
    result('killed midway: wrong or twice', 'count', [last.wrong]),
    result('killed midway: called again', 'count', [called.length - new Set(called).size]),
  ];
}

async function initiated(server: PostgresServer): Promise<string> {
  const url = await server.createDatabase('map');
  await (await inPostgres()).initStore(url);
  return url;
}

const { inputs, killed, rounds, journal, json } = readOptions({
  inputs: 100_000,
  killed: 40_000,
  rounds: 3,
  journal: 'folder',
});
using folder = new Folder('map');
const real = new RealCluster(folder.path);
const server = journal === 'postgres' ? await PostgresServer.start() : undefined;
try {
  await real.start({ schedulerArgs: server ? ['--journal', await initiated(server)] : [] });
  const scheduler = real.targets.find(({ role }) => role === 'scheduler')!.daemon.pid;
  const file = (name: string, calls: string, ms: number): string => {
    const path = join(folder.path, name);
    writeFileSync(path, moduleText(calls, ms));
    return path;
  };
  const results: BenchResult[] = [];
  const cluster = await connect(real.url);
  if (rounds > 0) results.push(...(await compare(cluster, file('slow.mjs', '', 1), rounds)));
  await cluster.close();
  const common = { url: real.url, failEvery: FAIL_EVERY };
  if (inputs > 0) {
    const mapping = { ...common, inputs, module: file('quick.mjs', '', 0), order: 'completed' } as const;
    results.push(...(await overMany(mapping, scheduler)));
  }
  if (killed > 0) {
    const calls = join(folder.path, 'calls');
    const module = file('noted.mjs', calls, 0);
    const mapping = { ...common, inputs: killed, module, key: 'again', order: 'index' } as const;
    results.push(...(await killedMidway(mapping, calls)));
  }
  printReport('map', results, json);
} finally {
  for (const line of real.errors()) note(line);
  await real.daemons.stop();
  await server?.remove();
}
