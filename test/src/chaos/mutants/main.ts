import { availableParallelism } from 'node:os';
import { readOptions } from '../../../../scripts/options.mjs';
import type { Finding } from './hunt.js';
import { hunt } from './hunting.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';

const NAMES = MUTANTS.map(({ name }) => name);
const USAGE = `npm run chaos:mutants -- [--only NAMES] [--seeds 2000] [--threads 2]

prints which seeds or tests find which planted bug: ${NAMES.join(', ')}
`;

const given = readOptions(USAGE, {
  only: undefined,
  seeds: '2000',
  threads: String(availableParallelism()),
});
const only = given.only?.split(',');
const unknown = only?.find((name) => !NAMES.includes(name));
if (unknown !== undefined) {
  process.stderr.write(`--only: there is no mutant "${unknown}"; there are ${NAMES.join(', ')}\n`);
  process.exit(2);
}

async function huntAll(mutants: Mutant[]): Promise<number> {
  let survivors = 0;
  const one = async (): Promise<void> => {
    for (let mutant = mutants.shift(); mutant !== undefined; mutant = mutants.shift()) {
      const finding = await hunt(mutant, Number(given.seeds));
      if (finding === undefined) survivors++;
      process.stdout.write(`${row(mutant, finding)}\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(given.threads) }, one));
  return survivors;
}

function row({ name, what, test }: Mutant, finding: Finding | undefined): string {
  if (finding === undefined)
    return `| ${name} | ${what} | NOT FOUND by ${test ?? `${given.seeds} seeds`} | |`;
  const { by, complaint, seconds } = finding;
  const colon = test === undefined ? complaint.indexOf(':') : -1;
  const kind = colon > 0 ? complaint.slice(0, colon) : complaint;
  return `| ${name} | ${what} | ${by}, ${seconds.toFixed(0)} s | ${kind} |`;
}

const survivors = await huntAll(MUTANTS.filter(({ name }) => only === undefined || only.includes(name)));
process.stdout.write(survivors === 0 ? 'every planted bug was found\n' : `${survivors} were not found\n`);
process.exitCode = survivors === 0 ? 0 : 1;
