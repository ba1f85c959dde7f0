import { type Address, Random } from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { BookedDraft, ClusterBooks, makePolicy } from '@goshawk/policies';
import { percentile } from '../bench-report.js';
import type { Measured } from './run.js';

addPapers();

const OWNER = 900 as Address;
const STAGES = 10_000;
const WORKERS = 100;
const CPUS = 16;
const TURNS = 500;

/** Waiting stages that all differ from each other in one property. */
interface Backlog {
  readonly name: string;
  /** Maximum time of a turn, in ms. */
  readonly limit: number;
  userOf(stage: number): string;
  cpusOf(stage: number): number;
}

export const BACKLOGS: readonly Backlog[] = [
  {
    name: '10,000 needs',
    limit: 2,
    userOf: () => 'ana',
    cpusOf: (stage) => 1 + (7 * stage) / STAGES,
  },
  {
    name: '10,000 users',
    limit: 2,
    userOf: (stage) => `user-${stage}`,
    cpusOf: (stage) => 1 + (stage % 4),
  },
];

/**
 * Measures the time of one turn, in which one task ends and another starts, while many stages of different users or
 * with different requirements wait.
 */
export function measureTurn({ name, limit, userOf, cpusOf }: Backlog): Measured {
  const random = Random.seeded(1).fork('needs');
  const books = new ClusterBooks();
  const policy = makePolicy(
    'goshawk',
    {},
    {
      cutoffMs: 1_000_000,
      sizesAreGiven: true,
      reserve: 0,
      random: () => random.next(),
    },
  );
  for (let at = 0; at < WORKERS; at++)
    books.setOpen(books.addWorker(at as Address, books.names.capacityOf(CPUS, { cpu: CPUS })), true);
  for (let number = 0; number < STAGES; number++) {
    const job = books.declare(OWNER, number, {
      arrivedAt: 0,
      tasks: 1,
      user: userOf(number),
      isDeclared: true,
    });
    const demand = books.names.demandOf({ cpu: Math.round(cpusOf(number) * 1_000) / 1_000 });
    const estimateMs = 1_000 + 100_000 * random.next();
    const facts = { tasks: 1, after: [], demand, estimateMs };
    books.setWaiting(books.stage(job, 0, facts), 1, 0);
  }
  const turnsMs: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const now = 1_000 * (turn + 1);
    const running = [...books.workers].flatMap(({ runs }) => runs);
    if (running.length > 0) books.end(running[Math.floor(random.next() * running.length)]!, 'done', now);
    const before = process.cpuUsage();
    policy.update(books.takeChanges(), now);
    policy.plan(books, new BookedDraft(books, 1, now), now);
    const { user, system } = process.cpuUsage(before);
    // The first turn fills the cluster.
    if (turn > 0) turnsMs.push((user + system) / 1_000);
  }
  const value = percentile(turnsMs, 0.5);
  return {
    world: name,
    statistic: 'a turn, median, ms of processor time',
    values: new Map([['goshawk', value]]),
    bound: { atMost: limit },
    limit,
    holds: value <= limit,
  };
}
