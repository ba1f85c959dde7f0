import { fitsIn, Random, type Vector } from '@goshawk/core';
import { expect, test } from 'vitest';
import { tetrisScore, VectorFit, type VectorServer } from './vector-fit.js';
import { Waiting } from './waiting.js';

const CAPACITIES: readonly Vector[] = [
  [Number.POSITIVE_INFINITY, 4000, 2 ** 33],
  [4, 4000, 2 ** 32],
  [7, 1000],
  [3],
];

interface Server extends VectorServer {
  readonly free: number[];
  isOpen: boolean;
}

interface Task {
  readonly group: number;
  readonly demand: Vector;
  readonly size: number;
  readonly sequence: number;
}

/** The rules, read literally: all servers are looked at, and all tasks. */
class Scan {
  readonly servers: Server[] = [];
  readonly tasks = new Map<number, Task>();

  serverFor(rule: 'first' | 'best', { demand }: Task): number {
    const score = (server: Server) =>
      server.capacity.length === 1 ? -server.free[0]! : tetrisScore(demand, server);
    const fitting = [...this.servers.keys()].filter(
      (at) => this.servers[at]!.isOpen && fitsIn(demand, this.servers[at]!.free),
    );
    if (rule === 'best') fitting.sort((a, b) => score(this.servers[b]!) - score(this.servers[a]!) || a - b);
    return fitting[0] ?? -1;
  }

  groupFor(server: Server): number {
    const sum = ({ demand }: Task) =>
      demand.reduce(
        (total, amount, index) => total + (amount === 0 ? 0 : amount / server.capacity[index]!),
        0,
      );
    const fitting = [...this.tasks.values()].filter(({ demand }) => fitsIn(demand, server.free));
    fitting.sort(
      (one, other) =>
        tetrisScore(other.demand, server) - tetrisScore(one.demand, server) ||
        sum(other) - sum(one) ||
        one.sequence - other.sequence,
    );
    return server.isOpen ? (fitting[0]?.group ?? -1) : -1;
  }

  largestOf({ isOpen, free }: Server, above: number, upTo: number): number {
    const fitting = [...this.tasks.values()].filter(
      ({ demand, size }) => size > above && size <= upTo && fitsIn(demand, free),
    );
    fitting.sort((one, other) => other.size - one.size || one.sequence - other.sequence);
    return isOpen ? (fitting[0]?.group ?? -1) : -1;
  }
}

/** Servers open, close, and have other room; tasks come and go. */
function compareWithScan(rule: 'first' | 'best', seed: number): void {
  const random = Random.seeded(seed);
  const draw = (count: number) => Math.floor(random.next() * count);
  const scan = new Scan();
  const waiting = new Waiting();
  const kinds = seed % 2 === 0 ? CAPACITIES : CAPACITIES.slice(1, 2);
  const fit = new VectorFit(waiting, rule, {
    serverAt: (server) => scan.servers[server]!,
    demandOf: (group) => scan.tasks.get(group)!.demand,
    largest: [Number.POSITIVE_INFINITY, 4000, 2 ** 33],
  });
  for (let server = 0; server < 150; server++) {
    const capacity = kinds[draw(kinds.length)]!;
    scan.servers.push({ capacity, free: [...capacity], isOpen: true });
    fit.open(server);
  }
  for (let step = 0; step < 600; step++) {
    const at = draw(150);
    const server = scan.servers[at]!;
    if (draw(10) === 0) {
      server.isOpen = !server.isOpen;
      if (server.isOpen) fit.open(at);
      else fit.close(at);
    }
    server.capacity.forEach((all, index) => {
      server.free[index] = Number.isFinite(all) ? Math.floor((all * draw(9)) / 8) : all;
    });
    fit.refresh(at);
    if (draw(3) > 0) {
      const demand = [1, 125 * draw(20), 2 ** 29 * draw(10)].slice(0, 1 + draw(3));
      const size = Math.ceil(Math.max((demand[1] ?? 0) / 250, (demand[2] ?? 0) / 2 ** 30) + 1);
      const group = waiting.add(size, 1, 0);
      scan.tasks.set(group, { group, demand, size, sequence: waiting.sequence[group]! });
      fit.add(group);
    } else {
      const [group] = [...scan.tasks.keys()].slice(draw(scan.tasks.size));
      if (group !== undefined) {
        fit.remove(group);
        scan.tasks.delete(group);
        waiting.grow(group, -1);
      }
    }
    const task = [...scan.tasks.values()].at(-1);
    if (task !== undefined) expect(fit.serverFor(task.group)).toBe(scan.serverFor(rule, task));
    expect(fit.groupFor(at)).toBe(scan.groupFor(server));
    const [above, upTo] = [draw(10), 5 + draw(20)];
    expect(fit.largestOf(at, above, upTo)).toBe(scan.largestOf(server, above, upTo));
  }
}

test.each(['first', 'best'] as const)('%s fit finds what a scan finds', (rule) => {
  for (const seed of [1, 2, 3, 4]) compareWithScan(rule, seed);
});
