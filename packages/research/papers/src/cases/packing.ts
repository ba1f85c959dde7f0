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
import { checkEach, checkKnown, checkValue, FieldError } from './fields.js';
import type { CaseKind } from './kind.js';

const PARTITION: CaseKind = {
  policy: 'packing',
  accepts: ({ sizes, types }) => Array.isArray(sizes) && isObject(types),
  *check({ sizes, types }) {
    for (const [place, size] of sizes.entries()) checkValue(size, 'share', `sizes[${place}]`);
    for (const [j, expected] of Object.entries(types)) {
      checkJ(Number(j), `types.${j}`);
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
  accepts: ({ sets }) => isObject(sets),
  *check({ sets }) {
    for (const [j, expected] of Object.entries(sets)) {
      checkJ(Number(j), `sets.${j}`);
      yield { name: `J = ${j}`, expected, got: kRed(Number(j)).map((one) => countsOf(one, Number(j))) };
    }
  },
};

const MAX_WEIGHT: CaseKind = {
  policy: 'packing',
  accepts: ({ cases }) => cases?.[0]?.J >= 2 && Array.isArray(cases[0].Q),
  *check({ cases }) {
    checkEach(cases, { J: 'count', Q: 'numbers' }, 'cases', checkKnown);
    for (const [place, { J, Q, ...expected }] of cases.entries()) {
      checkJ(J, `cases[${place}].J`);
      if (Q.length !== 2 * J)
        throw new FieldError(`cases[${place}].Q has ${Q.length} numbers; J = ${J} has ${2 * J}`);
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
    checkEach(cases, { servers: 'count', J: 'count', script: 'list', runs: 'list' }, 'cases', checkKnown);
    for (const [place, { name, servers, J, script, runs, arrivals }] of cases.entries()) {
      const at = `cases[${place}]`;
      checkJ(J, `${at}.J`);
      checkEach(script, { 'depart?': 'list', 'arrive?': 'list' }, `${at}.script`, checkKnown);
      checkEach(runs, { policy: 'text', steps: 'list' }, `${at}.runs`, checkKnown);
      for (const [batch, { arrive = [] }] of (script as Batch[]).entries())
        for (const [which, arrival] of arrive.entries())
          checkValue(arrival?.[1], 'share', `${at}.script[${batch}].arrive[${which}][1]`);
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
  const policy = Object.hasOwn(POLICIES, run.policy) ? POLICIES[run.policy] : undefined;
  if (policy === undefined)
    throw new FieldError(`there is no policy "${run.policy}"; known: ${Object.keys(POLICIES).join(', ')}`);
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

/** Larger numbers of sizes are equal in practice, and take long. */
const J_MAX = 1_000;

function checkJ(j: number, where: string): void {
  if (!(Number.isInteger(j) && j >= 2 && j <= J_MAX))
    throw new FieldError(`${where} is not a J; it is a whole number from 2 to ${J_MAX}`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
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
