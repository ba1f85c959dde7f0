import { type BenchResult, printReport, result } from './bench-report.js';
import { measureLive } from './capacity/live.js';
import { DESIGNS, type Design, simulatePoint } from './capacity/simulated.js';
import { note, readOptions } from './script.js';

/**
 * How many tasks a second can one central match, and what happens beyond? Live: what a task costs central's process,
 * and what jobs of tasks without duration take at rising rates. Simulated: a central that takes a time for each
 * message, at rates around the one at which it is busy all the time.
 *
 * The simulated central is far slower than the live one, 0.5 ms a message by default, so that more than it
 * can do is not a million tasks; what counts is the rate over that at which it saturates.
 */
const options = readOptions({
  rates: [500, 1_000, 2_000, 4_000],
  seconds: 5,
  runs: 3,
  live: true,
  simulated: true,
  service: 0.5,
  'simulated-rates': [400, 800, 1_200, 1_600, 2_000],
});

async function live(): Promise<BenchResult[]> {
  const samples = new Map<string, { unit: string; runs: number[] }>();
  const keep = (name: string, unit: string, value: number): void => {
    const { runs } = samples.get(name) ?? { runs: [] };
    samples.set(name, { unit, runs: [...runs, value] });
  };
  for (let run = 0; run < options.runs; run++) {
    for (const policy of ['goshawk', 'goshawk-peer']) {
      const points = await measureLive(policy, options.rates, options.seconds);
      for (const { offered, done, p50, p90, centralMicros } of points) {
        const at = `${policy} at ${offered}/s`;
        note(
          `  ${at}: ${done.toFixed(0)}/s, p50 ${p50.toFixed(1)} ms, central ${centralMicros.toFixed(0)} µs a task`,
        );
        keep(`${at}: done`, 'tasks/s', done);
        keep(`${at}: job p50`, 'ms', p50);
        keep(`${at}: job p90`, 'ms', p90);
        keep(`${at}: central's processor`, 'µs/task', centralMicros);
      }
      const least = Math.min(...points.map(({ centralMicros }) => centralMicros));
      keep(`${policy}: tasks a second for which central needs a whole processor`, 'tasks/s', 1e6 / least);
    }
  }
  return [...samples].map(([name, { unit, runs }]) => result(name, unit, runs));
}

async function simulated(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const rate of options['simulated-rates']) {
    for (const design of Object.keys(DESIGNS) as Design[]) {
      const { p50, p90, p99, atCentral } = await simulatePoint(design, rate, options.service);
      const at = `simulated, ${design} at ${rate}/s`;
      note(`  ${at}: delay ${[p50, p90, p99].map((ms) => ms.toFixed(1)).join('/')} ms`);
      results.push(result(`${at}: delay p50`, 'ms', [p50]), result(`${at}: delay p90`, 'ms', [p90]));
      results.push(result(`${at}: delay p99`, 'ms', [p99]));
      results.push(result(`${at}: messages at central`, '1/task', [atCentral]));
    }
  }
  return results;
}

const results = [...(options.live ? await live() : []), ...(options.simulated ? await simulated() : [])];
printReport('capacity', results, options.json);
process.exit(0);
