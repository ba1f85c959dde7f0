import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type BenchResult, printReport, report, result } from './bench-report.js';

/**
 * Is this build's simulator faster than another one's? A machine's speed changes by more within a minute than most changes to
 * the code are worth, so both builds simulate the same in turn, a process each time, and the order changes from round to
 * round. What counts is the median of the rounds' ratios. (Two processes that take turns of milliseconds were tried, and
 * two simulations in one: each takes from the other the part of the caches that a smaller footprint would have left.)
 */
const BUILDS = { here: fileURLToPath(new URL('../..', import.meta.url)), there: '' };
type Build = keyof typeof BUILDS;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Another checkout, built. */
    with: { type: 'string' },
    rounds: { type: 'string', default: '6' },
    json: { type: 'boolean', default: false },
  },
});

const SIMULATION = ['google-like:jobs=6000', '--workers', '15000', '--policy', 'hawk', '--cutoff', '1129'];

interface Measured {
  /** Of the loop. */
  readonly nsPerEvent: number;
  /** The whole command. */
  readonly seconds: number;
}

function measure(build: Build): Measured {
  const args = positionals.length > 0 ? positionals : SIMULATION;
  const goshawk = resolve(BUILDS[build], 'packages/cli/dist/main.js');
  const began = performance.now();
  const printed = execFileSync(process.execPath, [goshawk, 'simulate', ...args, '--json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const seconds = (performance.now() - began) / 1_000;
  const { runs } = JSON.parse(printed) as { runs: readonly { wallSeconds: number; events: number }[] };
  const { wallSeconds, events } = runs[0]!;
  return { nsPerEvent: (1e9 * wallSeconds) / events, seconds };
}

function duel(): void {
  const measured: Record<Build, Measured[]> = { here: [], there: [] };
  for (let round = 0; round < Number(values.rounds); round++) {
    const order: Build[] = round % 2 === 0 ? ['here', 'there'] : ['there', 'here'];
    for (const build of order) measured[build].push(measure(build));
    const [here, there] = [measured.here.at(-1)!, measured.there.at(-1)!];
    const told = `${here.nsPerEvent.toFixed(0)} ns an event here, ${there.nsPerEvent.toFixed(0)} there`;
    process.stderr.write(
      `  ${told}; ${here.seconds.toFixed(2)} s and ${there.seconds.toFixed(2)} s in all\n`,
    );
  }
  const results: BenchResult[] = [];
  for (const [what, unit] of [
    ['nsPerEvent', 'ns an event'],
    ['seconds', 's in all'],
  ] as const) {
    const of = (build: Build): number[] => measured[build].map((run) => run[what]);
    const ratios = of('here').map((value, round) => value / of('there')[round]!);
    results.push(result('here', unit, of('here')), result('there', unit, of('there')));
    results.push(result('here, best', unit, [Math.min(...of('here'))]));
    results.push(result('here over there', unit, ratios));
  }
  printReport(report('duel', results), values.json);
}

if (values.with === undefined) {
  process.stderr.write(
    'say which build to compare with: --with FOLDER, a checkout in which npm run build was run\n',
  );
  process.exitCode = 2;
} else {
  BUILDS.there = resolve(values.with);
  duel();
}
