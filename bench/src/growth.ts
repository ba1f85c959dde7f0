import { slopeOf } from '@goshawk/core';
import { percentile, table } from './bench-report.js';
import { DrivenCentral } from './growth/central.js';
import { costOf, costOfEach, type EncodedMessage } from './growth/driven.js';
import { DrivenScheduler } from './growth/scheduler.js';
import { type MeasuredTable, measurementFile, writeMeasurement } from './measurement.js';
import { note, readOptions } from './script.js';

/**
 * Measures how the costs of central and of a scheduler grow with the cluster, with the exponent b of cost = a · n^b. The
 * machines run in virtual time without processes, but with the real codec; costs are processor time. The second table
 * plays many workers of one slot that register, beat, join and leave.
 *
 *     npm run bench -- growth [--rounds 3] [--only TEXT] [--cluster 20000] [--write]
 */
const options = readOptions({
  rounds: 3,
  only: '',
  jobs: [1_000, 10_000, 100_000],
  workers: [200, 2_000, 20_000],
  cluster: 20_000,
  write: false,
});
/** Number of measured operations per point. */
const TIMES = 200;

interface Cost {
  readonly of: string;
  readonly grows: 'jobs' | 'workers' | 'addresses';
  /** Returns the cost of one operation, µs. */
  measure(n: number): number;
}

/** Jobs that wait in a full cluster of 10 workers. */
function backlogged(
  jobs: number,
  demandOf: (at: number) => Readonly<Record<string, number>> = () => ({}),
  user?: string,
): DrivenCentral {
  const central = new DrivenCentral({ workers: 10, users: user !== undefined });
  central.deliver(central.needs(10));
  central.deliver(central.needs(jobs, demandOf, user));
  return central;
}

/** The cost of a task's end, with the start of the next one. */
function costOfTurn(central: DrivenCentral): number {
  const { workers } = central;
  // The workers that joined last, which a search finds last.
  const turn = (at: number) => central.deliver([central.freeSlot(workers.at(-1 - (at % workers.length))!)]);
  for (let at = 0; at < TIMES; at++) turn(at);
  return costOfEach(TIMES, turn);
}

const DIFFERENT = (at: number) => ({ memory: 1e9 + 1_000 * at });

const COSTS: readonly Cost[] = [
  {
    of: 'central: a worker registers',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({});
      const arriving = Array.from({ length: workers }, () => central.joining());
      return costOf(() => register(central, arriving)) / workers;
    },
  },
  {
    of: 'central, hawk: a worker registers',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({ policy: 'hawk' });
      const arriving = Array.from({ length: workers }, () => central.joining());
      return costOf(() => register(central, arriving)) / workers;
    },
  },
  {
    of: 'central: a heartbeat',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({ workers });
      const beats = central.workers.slice(0, 10 * TIMES).map((worker) => central.heartbeat(worker));
      central.deliver(beats);
      return costOf(() => central.deliver(beats)) / beats.length;
    },
  },
  {
    of: 'central, hawk: a heartbeat',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({ workers, policy: 'hawk' });
      central.runTo(2_000);
      const beats = central.workers.slice(0, 10 * TIMES).map((worker) => central.heartbeat(worker));
      central.deliver(beats);
      return costOf(() => central.deliver(beats)) / beats.length;
    },
  },
  {
    of: 'central: a worker joins and leaves',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({ workers });
      for (let at = 0; at < TIMES; at++) joinAndLeave(central);
      return costOfEach(TIMES, () => joinAndLeave(central));
    },
  },
  {
    of: 'central: a task, free workers',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({ workers });
      central.deliver(central.needs(100));
      return costOfEach(TIMES / 2, () => central.deliver([central.need()]));
    },
  },
  {
    of: 'central: a page of workers',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({ workers });
      return costOfEach(20, () => central.deliver([central.page(0)]));
    },
  },
  {
    of: 'central: a submission',
    grows: 'jobs',
    measure: (jobs) => {
      const central = backlogged(jobs);
      const needs = central.needs(2 * TIMES);
      central.deliver(needs.slice(TIMES));
      return costOf(() => central.deliver(needs.slice(0, TIMES))) / TIMES;
    },
  },
  { of: 'central: a task', grows: 'jobs', measure: (jobs) => costOfTurn(backlogged(jobs)) },
  {
    of: 'central: a task, jobs of different needs',
    grows: 'jobs',
    measure: (jobs) => costOfTurn(backlogged(jobs, DIFFERENT)),
  },
  {
    of: 'central: a task while others fit nowhere',
    grows: 'jobs',
    measure: (jobs) => {
      const central = backlogged(jobs, (at) => ({ memory: 5e9 + 1_000 * at }));
      central.deliver(central.needs(3 * TIMES));
      return costOfTurn(central);
    },
  },
  {
    of: 'central: a task of a user with a limit',
    grows: 'jobs',
    measure: (jobs) => {
      const central = backlogged(jobs, undefined, 'limited');
      return costOfTurn(central);
    },
  },
  {
    of: 'central: a task while a user with a limit has many needs',
    grows: 'workers',
    measure: (workers) => {
      const central = new DrivenCentral({ workers, users: true });
      central.deliver(central.needs(workers));
      central.deliver(central.needs(2_000, (at) => ({ memory: 1e9 + 1_000 * (at % 100) }), 'limited'));
      return costOfTurn(central);
    },
  },
  {
    of: 'central: the overview',
    grows: 'jobs',
    measure: (jobs) => {
      const central = backlogged(jobs);
      return costOfEach(20, () => central.deliver([central.question()]));
    },
  },
  {
    of: 'central: why of a job',
    grows: 'jobs',
    measure: (jobs) => {
      const central = backlogged(jobs);
      return costOfEach(20, (at) => central.deliver([central.question(20 + at)]));
    },
  },
  {
    of: 'central: 1 s of waiting',
    grows: 'jobs',
    measure: (jobs) => {
      const central = backlogged(jobs);
      central.beatFor(2);
      return costOf(() => central.beatFor(10)) / 10;
    },
  },
  {
    of: 'scheduler: a submission',
    grows: 'jobs',
    measure: (jobs) => {
      const scheduler = new DrivenScheduler({});
      scheduler.deliver(scheduler.submissions(jobs));
      const arriving = scheduler.submissions(TIMES);
      return costOf(() => scheduler.deliver(arriving)) / TIMES;
    },
  },
  {
    of: 'scheduler: a submission',
    grows: 'workers',
    measure: (workers) => {
      const scheduler = new DrivenScheduler({ workers });
      scheduler.deliver(scheduler.submissions(100));
      const arriving = scheduler.submissions(TIMES);
      return costOf(() => scheduler.deliver(arriving)) / TIMES;
    },
  },
  {
    of: 'scheduler: a submission after a worker joined',
    grows: 'workers',
    measure: (workers) => {
      const scheduler = new DrivenScheduler({ workers });
      scheduler.deliver(scheduler.submissions(100));
      return costOfEach(TIMES, () => scheduler.deliver([scheduler.membersJoin(1), scheduler.submission()]));
    },
  },
  {
    of: 'scheduler: a submission',
    grows: 'addresses',
    measure: (met) => {
      const scheduler = new DrivenScheduler({ workers: 100, met });
      scheduler.deliver(scheduler.submissions(100));
      return costOfEach(TIMES, () => scheduler.deliver([scheduler.submission()]));
    },
  },
  {
    of: 'scheduler: a task',
    grows: 'jobs',
    measure: (jobs) => {
      const scheduler = new DrivenScheduler({});
      scheduler.deliver(scheduler.submissions(jobs));
      const run = (at: number) => {
        scheduler.deliver([scheduler.match(1 + at, scheduler.workers[at % 10]!)]);
        scheduler.deliver(scheduler.ends());
      };
      for (let at = 0; at < TIMES; at++) run(at);
      return costOfEach(TIMES, (at) => run(TIMES + at));
    },
  },
  {
    of: 'scheduler: a lost worker',
    grows: 'jobs',
    measure: (jobs) => {
      const scheduler = new DrivenScheduler({ workers: TIMES });
      scheduler.deliver(scheduler.submissions(jobs));
      return costOfEach(TIMES, (at) => scheduler.deliver([scheduler.memberLeaves(scheduler.workers[at]!)]));
    },
  },
  {
    of: 'scheduler: why tasks wait',
    grows: 'jobs',
    measure: (jobs) => {
      const scheduler = new DrivenScheduler({});
      scheduler.deliver(scheduler.submissions(jobs));
      return costOfEach(5, () => scheduler.deliver([scheduler.question()]));
    },
  },
  {
    of: 'scheduler: 1 s of waiting',
    grows: 'jobs',
    measure: (jobs) => {
      const scheduler = waitingScheduler(jobs);
      return costOf(() => scheduler.beatFor(60)) / 60;
    },
  },
];

/** Numbers of messages instead of times. */
const COUNTS: readonly Cost[] = [
  {
    of: 'scheduler: needs repeated per 1,000 s, after an hour',
    grows: 'jobs',
    measure: (jobs) => {
      const scheduler = waitingScheduler(jobs);
      const before = scheduler.sent('need');
      scheduler.beatFor(1_000);
      return scheduler.sent('need') - before;
    },
  },
  {
    of: 'central: messages when a worker joins',
    grows: 'workers',
    measure: (workers) => messagesOfJoin(new DrivenCentral({ workers })),
  },
  {
    of: 'central, hawk: messages when a worker joins',
    grows: 'workers',
    measure: (workers) => messagesOfJoin(new DrivenCentral({ workers, policy: 'hawk' })),
  },
];

/** A scheduler whose jobs have waited for an hour. */
function waitingScheduler(jobs: number): DrivenScheduler {
  const scheduler = new DrivenScheduler({});
  for (const encoded of scheduler.submissions(jobs)) scheduler.deliver([encoded]);
  scheduler.beatFor(3_600);
  return scheduler;
}

function messagesOfJoin(central: DrivenCentral): number {
  central.runTo(central.now + 1_000);
  const sent = () =>
    central.sent('peers') + central.sent('members') + central.sent('welcome') + central.sent('heartbeatAck');
  const before = sent();
  central.deliver([central.joining()]);
  central.runTo(central.now + 1_000);
  return sent() - before;
}

/** Registers workers at the rate at which a real central receives them. */
function register(central: DrivenCentral, arriving: readonly EncodedMessage[]): void {
  for (let at = 0; at < arriving.length; at += 100) {
    central.deliver(arriving.slice(at, at + 100));
    central.runTo(central.now + 10);
  }
  central.runTo(central.now + 1_000);
}

function joinAndLeave(central: DrivenCentral): void {
  central.deliver([central.joining()]);
  central.runTo(central.now + 10);
  central.post(central.workers.pop()!, { type: 'leave' });
  central.runTo(central.now + 10);
}

const SIZES = { jobs: options.jobs, workers: options.workers, addresses: [1_000, 30_000, 300_000] };

function tableOf(title: string, unit: string, costs: readonly Cost[], rounds: number): MeasuredTable {
  const chosen = costs.filter(({ of, grows }) => `${of}, ${grows}`.includes(options.only));
  const runs = new Map(chosen.map((cost) => [cost, SIZES[cost.grows].map((): number[] => [])]));
  for (let round = 0; round < rounds; round++)
    for (const cost of chosen) {
      const sizes = SIZES[cost.grows];
      sizes.forEach((n, at) => {
        globalThis.gc?.();
        runs.get(cost)![at]!.push(cost.measure(n));
      });
      const shown = runs.get(cost)!.map((each) => each.at(-1)!.toPrecision(3));
      note(`  ${cost.of}, by ${cost.grows}: ${shown.join(', ')} ${unit}`);
    }
  const rows = chosen.map((cost) => {
    const medians = runs.get(cost)!.map((each) => percentile(each, 0.5));
    const points = SIZES[cost.grows].map(
      (n, at) => [Math.log(n), Math.log(Math.max(medians[at]!, 1e-3))] as const,
    );
    return [
      cost.of,
      `${cost.grows}: ${SIZES[cost.grows].join(', ')}`,
      ...medians.map((each) => Number(each.toPrecision(3))),
      Number(slopeOf(points).toFixed(2)),
    ];
  });
  return { title, columns: ['operation', 'n', `${unit}, first n`, 'second n', 'third n', 'exponent'], rows };
}

/** Plays workers of one slot, each in a separate process. */
function lifeOf(workers: number): MeasuredTable {
  const central = new DrivenCentral({});
  const arriving = Array.from({ length: workers }, () => central.joining());
  const registering = costOf(() => register(central, arriving));
  note(`  ${workers} workers registered in ${(registering / 1e6).toFixed(2)} s`);
  const all = central.workers;
  const beats = (seconds: number, silent: Set<unknown>, also: (second: number) => void): number => {
    let spent = 0;
    for (let second = 0; second < seconds; second++) {
      spent += costOf(() => also(second));
      const heartbeats = [central.scheduler, ...all]
        .filter((each) => !silent.has(each))
        .map((each) => central.heartbeat(each));
      // Heartbeats are spread over the interval.
      for (let part = 0; part < 10; part++) {
        const some = heartbeats.slice(
          Math.floor((part * heartbeats.length) / 10),
          Math.floor(((part + 1) * heartbeats.length) / 10),
        );
        spent += costOf(() => {
          central.deliver(some);
          central.runTo(central.now + 100);
        });
      }
    }
    return spent / seconds / 1e4;
  };
  const steady = beats(10, new Set(), () => {});
  const silent = new Set<unknown>();
  const expected: string[] = [];
  let joined = 0;
  const churning = beats(70, silent, (second) => {
    // 1,000 of each in the first minute; the last leases then end.
    for (; joined < Math.min(1_000, ((second + 1) * 1_000) / 60); joined++) {
      const lost = all[joined]!;
      silent.add(lost);
      expected.push(`w${lost}`);
      central.deliver([central.joining()]);
    }
  });
  const late = central.lost.filter((name) => !expected.includes(name)).length;
  return {
    title: `${workers} workers of one slot, each in a separate process`,
    columns: [
      'registration, s of central',
      'steady, % of a core',
      'with 1,000 joins and losses a minute, %',
      'lost',
      'lost although alive',
    ],
    rows: [
      [registering / 1e6, steady, churning, central.lost.length, late].map((each) =>
        Number(each.toPrecision(3)),
      ),
    ],
  };
}

const tables = [
  tableOf('Processor time of one operation', 'µs', COSTS, options.rounds),
  tableOf('Messages', 'messages', COUNTS, 1),
  ...(options.cluster > 0 ? [lifeOf(options.cluster)] : []),
];
for (const { title, columns, rows } of tables)
  process.stdout.write(`${title}\n${table([columns, ...rows.map((row) => row.map(String))])}\n\n`);
if (options.write) writeMeasurement(measurementFile('growth'), { tables });
