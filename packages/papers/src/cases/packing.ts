import { Needs } from '@goshawk/core';
import {
  bestConfiguration,
  CAPACITY,
  type Configuration,
  type Group,
  kRed,
  makePacker,
  type PackingName,
  typeOf,
  VirtualQueues,
  VirtualQueuesBestFit,
  weightOf,
} from '../policies/packing/index.js';
import type { CaseKind } from './kind.js';

const PARTITION: CaseKind = {
  policy: 'packing',
  accepts: ({ sizes, types }) => Array.isArray(sizes) && typeof types === 'object',
  *check({ sizes, types }) {
    for (const [j, expected] of Object.entries(types)) {
      yield {
        name: `types of J = ${j}`,
        expected,
        got: sizes.map((size: string) => typeOf(unitsOf(size), Number(j))),
      };
    }
  },
};

const K_RED: CaseKind = {
  policy: 'packing',
  accepts: ({ sets }) => typeof sets === 'object',
  *check({ sets }) {
    for (const [j, expected] of Object.entries(sets)) {
      yield { name: `J = ${j}`, expected, got: kRed(Number(j)).map((one) => countsOf(one, Number(j))) };
    }
  },
};

const MAX_WEIGHT: CaseKind = {
  policy: 'packing',
  accepts: ({ cases }) => cases?.[0]?.J >= 2 && Array.isArray(cases[0].Q),
  *check({ cases }) {
    for (const { J, Q, ...expected } of cases) {
      const list = kRed(J);
      const best = bestConfiguration(list, Q);
      yield {
        name: `J = ${J}, Q = ${Q}`,
        expected,
        got: {
          weights: list.map((one) => weightOf(one, Q)),
          index: best === undefined ? null : list.indexOf(best),
          config: best === undefined ? null : countsOf(best, J),
          weight: best === undefined ? 0 : weightOf(best, Q),
        },
      };
    }
  },
};

const POLICIES: Readonly<Record<string, PackingName>> = {
  fifoff: 'fifo-ff',
  bfjs: 'bfjs',
  vqs: 'vqs',
  vqsbf: 'vqs-bf',
};

/** Batches of departures and arrivals, and the placements of each policy. */
const PLACEMENT: CaseKind = {
  policy: 'packing',
  accepts: ({ cases }) => Array.isArray(cases?.[0]?.script) && Array.isArray(cases[0].runs),
  *check({ cases }) {
    for (const { name, servers, J, script, runs, arrivals } of cases) {
      for (const run of runs as ScriptRun[]) {
        const isLiteral = (run.arrivals ?? arrivals) === 'literal';
        yield {
          policy: run.policy,
          name,
          expected: run.steps,
          got: play(servers, J, script, run, isLiteral),
        };
      }
    }
  },
};

export const PACKING_CASES: readonly CaseKind[] = [PARTITION, K_RED, MAX_WEIGHT, PLACEMENT];

interface ScriptRun {
  readonly policy: string;
  readonly arrivals?: string;
  readonly steps: readonly unknown[];
}

/** One batch. Departures precede arrivals, and the departure of a job that is not running is ignored. */
interface Batch {
  readonly depart?: readonly number[];
  readonly arrive?: readonly (readonly [job: number, size: string])[];
}

function play(
  servers: number,
  j: number,
  script: readonly Batch[],
  run: ScriptRun,
  isLiteral: boolean,
): unknown[] {
  const policy = POLICIES[run.policy];
  if (policy === undefined) throw new TypeError(`unknown policy ${run.policy}`);
  const packer = makePacker(policy, { j, arrivals: isLiteral ? 'serverOrder' : 'bestFit' });
  for (let server = 0; server < servers; server++) packer.open(server);
  packer.run(() => {});
  let next = 0;
  const waiting = new Map<Group, { readonly job: number; readonly size: number }>();
  const running = new Map<number, { readonly server: number; readonly size: number }>();
  return script.map(({ depart = [], arrive = [] }) => {
    for (const job of depart) {
      const at = running.get(job);
      if (at === undefined) continue;
      packer.depart(at.server, at.size);
      running.delete(job);
    }
    for (const [job, share] of arrive) {
      const size = unitsOf(share);
      const group = {
        sequence: next++,
        size,
        family: 0,
        needs: new Needs(0, [], undefined),
        count: 1,
      };
      packer.arrive(group);
      waiting.set(group, { job, size });
    }
    const placed: [number, number][] = [];
    packer.run((group, server) => {
      const { job, size } = waiting.get(group)!;
      waiting.delete(group);
      running.set(job, { server, size });
      placed.push([job, server]);
    });
    const queue = [...waiting.values()].map(({ job }) => job).sort((a, b) => a - b);
    return { placed, queue, config: configurationsOf(packer, servers, j) };
  });
}

function configurationsOf(packer: unknown, servers: number, j: number): (number[] | null)[] | null {
  if (!(packer instanceof VirtualQueues || packer instanceof VirtualQueuesBestFit)) return null;
  return Array.from({ length: servers }, (_, server) => {
    const configuration = packer.configurations.of(server);
    return configuration === undefined ? null : countsOf(configuration, j);
  });
}

/** @param share a fraction of a server as text, `2/3` or `0.4` */
function unitsOf(share: string): number {
  const [above, below = '1'] = share.split('/');
  return Math.ceil((Number(above) * CAPACITY) / Number(below));
}

function countsOf({ large, filler, fillers }: Configuration, j: number): number[] {
  const counts = new Array<number>(2 * j).fill(0);
  if (large === 1) counts[1] = 1;
  counts[filler] = fillers;
  return counts;
}
