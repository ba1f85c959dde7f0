import { Needs, Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { Configuration } from './configurations.js';
import { kRed } from './configurations.js';
import type { Group } from './group.js';
import {
  type NaiveJob,
  NaivePacking,
  type NaivePolicy,
  naiveKRed,
  naiveType,
  sum,
  WHOLE,
} from './naive.fixture.js';
import { makePacker, type PackingName } from './packers.js';
import { CAPACITY, typeOf } from './partition.js';
import type { VirtualQueues } from './virtual-queues.js';

const SCRIPTS = 200;
const POLICIES: readonly NaivePolicy[] = ['fifo-ff', 'bfjs', 'vqs', 'vqs-bf', 'vqs-bf in server order'];

function countsOf({ large, filler, fillers }: Configuration, j: number): number[] {
  return Array.from({ length: 2 * j }, (_, type) => (type === filler ? fillers : type === 1 ? large : 0));
}

test.each([2, 3, 4, 5, 8])('partition and configurations are those of the paper: J = %i', (j) => {
  const sizes = Array.from({ length: Number(WHOLE) }, (_, at) => at + 1);
  const units = CAPACITY / Number(WHOLE);
  expect(sizes.map((size) => typeOf(size * units, j))).toEqual(
    sizes.map((size) => naiveType(BigInt(size), j)),
  );
  expect(kRed(j).map((one) => countsOf(one, j))).toEqual(naiveKRed(j));
});

/** The policy and a literal model, with the same inputs. */
class Pair {
  readonly naive: NaivePacking;
  readonly #packer: ReturnType<typeof makePacker>;
  readonly #waiting = new Map<Group, NaiveJob>();
  readonly #random: Random;
  #next = 0;

  constructor(policy: NaivePolicy, random: Random) {
    this.#random = random;
    const j = 2 + this.#draw(4);
    const servers = 1 + this.#draw(5);
    const isLiteral = policy === 'vqs-bf in server order';
    const name: PackingName = isLiteral ? 'vqs-bf' : policy;
    this.naive = new NaivePacking(policy, j, servers);
    this.#packer = makePacker(name, { j, arrivals: isLiteral ? 'serverOrder' : 'bestFit' });
    for (let server = 0; server < servers; server++) this.#packer.open(server);
    this.#packer.run(() => {});
  }

  #draw(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  #size(): bigint {
    const m = 2n ** BigInt(this.#draw(6));
    const edges = [WHOLE / m, (2n * WHOLE) / (3n * m)];
    const kind = this.#draw(3);
    if (kind === 0) return edges[this.#draw(2)]! + BigInt(this.#draw(2) === 0 ? 0 : -this.#draw(3));
    return kind === 1 ? (WHOLE * BigInt(1 + this.#draw(20))) / 20n : BigInt(1 + this.#draw(Number(WHOLE)));
  }

  #arrive(job: NaiveJob): void {
    const size = Number(job.size) * (CAPACITY / Number(WHOLE));
    const needs = new Needs(0, [], undefined);
    const group = { sequence: job.id, size, family: 0, needs, count: 1 };
    this.#packer.arrive(group);
    this.#waiting.set(group, job);
    this.naive.arrive(job);
  }

  #depart(job: NaiveJob, server: number): void {
    this.naive.depart(job.id);
    this.#packer.depart(server, Number(job.size) * (CAPACITY / Number(WHOLE)));
  }

  /** Servers open and close; tasks end, are declined, are withdrawn, and arrive. */
  step(): void {
    for (const [at, server] of this.naive.servers.entries()) {
      for (const job of server.jobs) {
        const luck = this.#random.next();
        if (luck > 0.3) continue;
        this.#depart(job, at);
        if (luck < 0.03) this.#arrive(job);
      }
      if (this.#draw(40) > 0) continue;
      server.isOpen = !server.isOpen;
      if (!server.isOpen) this.#packer.close(at);
      else this.#packer.open(at);
      if (server.isOpen) this.naive.freed.add(at);
    }
    for (const [group, { id }] of this.#waiting) {
      if (this.#draw(40) > 0) continue;
      this.#packer.withdraw(group, 1);
      this.#waiting.delete(group);
      this.naive.queue = this.naive.queue.filter((job) => job.id !== id);
      this.naive.fresh = this.naive.fresh.filter((job) => job.id !== id);
    }
    for (let arrivals = this.#draw(6); arrivals > 0; arrivals--) {
      this.#arrive({ id: this.#next++, size: this.#size() });
    }
    this.#run();
  }

  #run(): void {
    const placed: [number, number][] = [];
    this.#packer.run((group, server) => {
      placed.push([this.#waiting.get(group)!.id, server]);
      this.#waiting.delete(group);
    });
    this.naive.run();
    expect(placed).toEqual(this.naive.placed);
    const ids = [...this.#waiting.values()].map(({ id }) => id).sort((a, b) => a - b);
    expect(ids).toEqual(this.naive.queue.map(({ id }) => id));
    for (const [at, { isOpen, configuration }] of this.naive.servers.entries()) {
      if (!isOpen || !('configurations' in this.#packer)) continue;
      const chosen = (this.#packer as VirtualQueues).configurations.of(at);
      expect(chosen && countsOf(chosen, this.naive.j)).toEqual(configuration);
    }
  }
}

function expectInvariants(model: NaivePacking): void {
  const { servers, queue, j } = model;
  const open = [...servers.keys()].filter((at) => servers[at]!.isOpen);
  const rooms = open.map((at) => model.room(at));
  for (const { jobs } of servers) expect(sum(jobs) <= WHOLE).toBe(true);
  if (model.policy === 'fifo-ff') {
    const head = queue[0];
    return expect(head !== undefined && rooms.some((room) => room >= head.size)).toBe(false);
  }
  if (model.policy !== 'vqs') {
    return expect(queue.some(({ size }) => rooms.some((room) => room >= size))).toBe(false);
  }
  for (const at of open) {
    const { jobs, configuration } = servers[at]!;
    if (jobs.length === 0) return expect(queue).toEqual([]);
    expect(configuration).toBeDefined();
    const large = jobs.filter(({ size }) => naiveType(size, j) === 1).length;
    expect(large).toBeLessThanOrEqual(1);
    expect(model.fillerRoom(at) >= 0n).toBe(true);
    if (configuration![1] === 1 && large === 0) expect(model.typed(1)).toEqual([]);
    const head = model.typed(model.fillerOf(configuration!))[0];
    expect(head !== undefined && model.reserved(head.size) <= model.fillerRoom(at)).toBe(false);
  }
}

test.each(POLICIES)(
  `%s places as the literal rules do, and keeps its invariants, in ${SCRIPTS} scripts`,
  (policy) => {
    for (let seed = 0; seed < SCRIPTS; seed++) {
      const pair = new Pair(policy, Random.seeded(`${policy} ${seed}`));
      for (let step = 0; step < 15; step++) {
        try {
          pair.step();
          expectInvariants(pair.naive);
        } catch (error) {
          throw new Error(`seed "${policy} ${seed}", step ${step}: ${(error as Error).message}`, {
            cause: error,
          });
        }
      }
    }
  },
);
