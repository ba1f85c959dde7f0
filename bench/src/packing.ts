import {
  drawJobs,
  meanSize,
  PACKING_NAMES,
  type PackingName,
  runPacking,
  type SizeDraw,
} from '@goshawk/papers';
import { type BenchResult, printReport, result } from './bench-report.js';
import { readOptions } from './script.js';

/**
 * Measures the arrivals and departures per second that each packing policy decides, without messages: 400,000 tasks of
 * two size mixes on 10,000 servers, with exponential service times, by load. The ratio is to FIFO-FF at the same load
 * on the same machine.
 */
const JOBS = 400_000;
const SLOTS = 100;
const MIXES: readonly { readonly name: string; readonly sizes: SizeDraw; readonly j: number }[] = [
  { name: '0.1-0.9', sizes: { kind: 'uniform', low: 0.1, high: 0.9 }, j: 4 },
  { name: '0.01-0.19', sizes: { kind: 'uniform', low: 0.01, high: 0.19 }, j: 7 },
];
const LOADS = [0.6, 0.95, 0.99];

/** Returns events per second of processor time, on which other load of the machine has less effect. */
function measure(
  policy: PackingName,
  { sizes, j }: (typeof MIXES)[number],
  load: number,
  servers: number,
): number {
  const rate = (load * servers) / SLOTS / meanSize(sizes);
  const jobs = drawJobs({
    sizes,
    arrivals: 'continuous',
    rate,
    service: 'exponential',
    slots: SLOTS,
    seed: 1,
  });
  const started = process.cpuUsage();
  const { events } = runPacking({ policy, j, servers, jobs, until: JOBS / rate });
  return events / (process.cpuUsage(started).user / 1e6);
}

const { servers, runs, json } = readOptions({ servers: 10_000, runs: 3 });
const results: BenchResult[] = [];
for (const mix of MIXES) {
  for (const load of LOADS) {
    const rates = PACKING_NAMES.map((policy) =>
      Array.from({ length: runs }, () => measure(policy, mix, load, servers)),
    );
    for (const [at, policy] of PACKING_NAMES.entries()) {
      const name = `${policy}, sizes ${mix.name}, load ${load}`;
      results.push(result(`${name}: events`, '1/s', rates[at]!));
      const ratios = rates[at]!.map((rate, run) => rate / rates[0]![run]!);
      if (at > 0) results.push(result(`${name}: ratio to fifo-ff`, '', ratios));
    }
  }
}
printReport('packing', results, json);
