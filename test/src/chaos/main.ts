import { availableParallelism } from 'node:os';
import { readOptions } from '../../../scripts/options.mjs';
import { drawPlan, FAULT_FREE, OUTAGES, SHARED } from './draw-plan.js';
import { readKnown, writeKnown } from './known.js';
import type { Plan } from './plan.js';
import { play } from './run.js';
import { kindOf, shrink } from './shrink.js';
import { Tally } from './tally.js';
import { playAll } from './threads.js';

const USAGE = `npm run chaos -- [options]

  --seeds 1000      number of clusters, with seeds from --from on (0)
  --seed 17         one cluster, with a transcript
  --shared          clusters whose schedulers share a journal and take over from each other
  --fault-free      clusters without faults, only with delays
  --outages         clusters with limits of users, whose only faults are outages of central
  --known NAME      the plan in test/chaos/NAME.json, with a transcript
  --threads 2       default: number of cores
  --shrink          minimize failing plans: fewer faults, jobs and workers
  --save NAME       write the minimized plan to test/chaos/NAME.json
`;

const given = readOptions(USAGE, {
  seeds: '1000',
  from: '0',
  seed: undefined,
  shared: false,
  'fault-free': false,
  outages: false,
  known: undefined,
  threads: String(availableParallelism()),
  shrink: false,
  save: undefined,
});

/** Number of failing seeds that are shrunk at the end of a long run. */
const SHRUNK_SEEDS_MAX = 3;
const PROGRESS_MS = 10_000;

function seedOf(number: number | string): string {
  const kind = given.shared ? SHARED : given['fault-free'] ? FAULT_FREE : given.outages ? OUTAGES : '';
  return `${kind}${number}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function many(): Promise<number> {
  const from = Number(given.from);
  const seeds = Array.from({ length: Number(given.seeds) }, (_, i) => seedOf(from + i));
  const tally = new Tally();
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1_000;
  const progress = setInterval(() => {
    say(
      `${tally.runs} of ${seeds.length} in ${seconds().toFixed(0)} s, ${tally.failed.length} broke something`,
    );
  }, PROGRESS_MS);
  await playAll(seeds, Number(given.threads), (outcome) => {
    tally.add(outcome);
    if (outcome.complaints.length > 0) say(`seed ${outcome.seed}: ${firstLine(outcome.complaints[0]!)}`);
  });
  clearInterval(progress);
  for (const line of tally.summary(seconds())) say(line);
  for (const { seed } of tally.failed) say(`play it again: npm run chaos -- --seed ${seed}`);
  for (const { seed } of tally.failed.slice(0, SHRUNK_SEEDS_MAX))
    await makeSmall(drawPlan(seed), `seed ${seed}`);
  return tally.failed.length;
}

async function one(plan: Plan, name: string): Promise<number> {
  const { complaints, counts } = given.shrink ? await play(plan) : await play(plan, say);
  say(`${name}: ${counts.messages} messages, ${counts.faults} faults`);
  for (const complaint of complaints) say(complaint);
  if (complaints.length > 0 && given.shrink) await makeSmall(plan, name);
  return complaints.length;
}

async function makeSmall(plan: Plan, name: string): Promise<void> {
  const { complaints } = await play(plan);
  const smallest = await shrink(plan, kindOf(complaints[0]!));
  const { workers, schedulers, orders, faults, settings } = smallest;
  say(
    `${name}, made small: ${settings.policy.policy}, ${workers.length} workers, ${schedulers.length} schedulers`,
  );
  for (const order of orders) say(`  ${JSON.stringify(order)}`);
  for (const fault of faults) say(`  ${JSON.stringify(fault)}`);
  if (given.save !== undefined)
    say(`written to ${writeKnown(given.save, { what: firstLine(complaints[0]!), plan: smallest })}`);
}

function firstLine(complaint: string): string {
  return complaint.split('\n')[0]!;
}

async function main(): Promise<number> {
  if (given.known !== undefined) return one(readKnown(given.known).plan, given.known);
  if (given.seed !== undefined) return one(drawPlan(seedOf(given.seed)), `seed ${given.seed}`);
  return many();
}

process.exitCode = (await main()) === 0 ? 0 : 1;
