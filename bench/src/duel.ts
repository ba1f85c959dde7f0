import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BenchResult, printReport, result } from './bench-report.js';
import { inTurns } from './rounds.js';
import { fail, note, readOptions } from './script.js';

/**
 * Compares the speed of this build's simulator with another one's. A machine's speed changes by more within a minute
 * than most code changes gain, so both builds simulate the same workload in turn, in a new process each time, and the
 * order changes from round to round. The result is the median of the rounds' ratios. (Alternating every few
 * milliseconds, between two processes or within one, distorts the result: each simulation evicts the other from the
 * caches.)
 */
type Build = 'here' | 'there';

const options = readOptions(
  {
    /** Folder of another checkout, already built. */
    with: undefined,
    rounds: 6,
  },
  true,
);

const SIMULATION = ['google-like:jobs=6000', '--workers', '15000', '--policy', 'hawk', '--cutoff', '1129'];

interface Measured {
  /** Time of the event loop. */
  readonly nsPerEvent: number;
  /** Time of the whole command. */
  readonly seconds: number;
}

function commandOf(tree: string): string {
  return resolve(tree, 'packages/cli/bin/goshawk.js');
}

function measure(tree: string): Measured {
  const args = options.positionals.length > 0 ? options.positionals : SIMULATION;
  const began = performance.now();
  const printed = execFileSync(process.execPath, [commandOf(tree), 'simulate', ...args, '--json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    // Progress is discarded; the reason of a failure is part of the error.
    stdio: 'pipe',
  });
  const seconds = (performance.now() - began) / 1_000;
  const { runs } = JSON.parse(printed) as { runs: readonly { wallSeconds: number; events: number }[] };
  const { wallSeconds, events } = runs[0]!;
  return { nsPerEvent: (1e9 * wallSeconds) / events, seconds };
}

async function duel(trees: Readonly<Record<Build, string>>): Promise<void> {
  const measured = await inTurns<Build, Measured>(['here', 'there'], options.rounds, (build) => {
    const { nsPerEvent, seconds } = measure(trees[build]);
    note(`  ${build}: ${nsPerEvent.toFixed(0)} ns per event, ${seconds.toFixed(2)} s in all`);
    return { nsPerEvent, seconds };
  });
  const results: BenchResult[] = [];
  for (const [name, what, unit] of [
    ['loop', 'nsPerEvent', 'ns per event'],
    ['whole command', 'seconds', 's'],
  ] as const) {
    const of = (build: Build): number[] => measured.get(build)!.map((run) => run[what]);
    const ratios = of('here').map((value, round) => value / of('there')[round]!);
    results.push(result(`${name}, here`, unit, of('here')), result(`${name}, there`, unit, of('there')));
    results.push(result(`${name}, here, best`, unit, [Math.min(...of('here'))]));
    results.push(result(`${name}, this build ÷ the other`, '', ratios));
  }
  printReport('duel', results, options.json);
}

const there = options.with;
if (there === undefined || !existsSync(commandOf(there)))
  fail('--with FOLDER is missing: a checkout in which npm run build was run');
await duel({ here: fileURLToPath(new URL('../..', import.meta.url)), there });
