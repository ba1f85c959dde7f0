import { availableParallelism } from 'node:os';
import { readFlags } from '../../options.js';
import type { Finding } from './hunt.js';
import { hunt } from './hunting.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';

const NAMES = MUTANTS.map(({ name }) => name);
const USAGE = `npm run chaos:mutants -- [--only NAME] [--seeds 2000] [--threads 2]

prints which seeds find which planted bug: ${NAMES.join(', ')}
`;

const given = readFlags(USAGE, {
  only: { type: 'string' },
  seeds: { type: 'string', default: '2000' },
  threads: { type: 'string', default: String(availableParallelism()) },
});
if (given.only !== undefined && !NAMES.includes(given.only)) {
  process.stderr.write(`--only: there is no mutant "${given.only}"; there are ${NAMES.join(', ')}\n`);
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

function row({ name, what }: Mutant, finding: Finding | undefined): string {
  if (finding === undefined) return `| ${name} | ${what} | NOT FOUND in ${given.seeds} seeds | |`;
  const { seed, complaint, seconds } = finding;
  const kind = complaint.slice(0, Math.max(complaint.indexOf(':'), 0)) || complaint;
  return `| ${name} | ${what} | seed ${seed}, ${seconds.toFixed(0)} s | ${kind} |`;
}

const survivors = await huntAll(
  MUTANTS.filter(({ name }) => given.only === undefined || name === given.only),
);
process.stdout.write(survivors === 0 ? 'every planted bug was found\n' : `${survivors} were not found\n`);
process.exitCode = survivors === 0 ? 0 : 1;
