import { fitsIn, NeedsTable, Random, ResourceNames, type Vector } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { Group } from './group.js';
import { tetrisScore, VectorFit, type VectorServer } from './vector-fit.js';

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

/** The rules implemented as a linear scan over all servers and tasks. */
class Scan {
  readonly servers: Server[] = [];
  readonly tasks: Group[] = [];

  serverFor(rule: 'first' | 'best', { needs: { demand } }: Group): number {
    const score = (server: Server) =>
      server.capacity.length === 1 ? -server.free[0]! : tetrisScore(demand, server);
    const fitting = [...this.servers.keys()].filter(
      (at) => this.servers[at]!.isOpen && fitsIn(demand, this.servers[at]!.free),
    );
    if (rule === 'best') fitting.sort((a, b) => score(this.servers[b]!) - score(this.servers[a]!) || a - b);
    return fitting[0] ?? -1;
  }

  groupFor(server: Server): Group | undefined {
    const sum = ({ needs: { demand } }: Group) =>
      demand.reduce(
        (total, amount, index) => total + (amount === 0 ? 0 : amount / server.capacity[index]!),
        0,
      );
    const fitting = this.tasks.filter(({ needs }) => fitsIn(needs.demand, server.free));
    fitting.sort(
      (one, other) =>
        tetrisScore(other.needs.demand, server) - tetrisScore(one.needs.demand, server) ||
        sum(other) - sum(one) ||
        one.sequence - other.sequence,
    );
    return server.isOpen ? fitting[0] : undefined;
  }

  largestOf({ isOpen, free }: Server, above: number, upTo: number): Group | undefined {
    const fitting = this.tasks.filter(
      ({ needs, size }) => size > above && size <= upTo && fitsIn(needs.demand, free),
    );
    fitting.sort((one, other) => other.size - one.size || one.sequence - other.sequence);
    return isOpen ? fitting[0] : undefined;
  }
}

/** Servers open, close, and change their room; tasks arrive and leave. */
function compareWithScan(rule: 'first' | 'best', seed: number): void {
  const random = Random.seeded(seed);
  const draw = (count: number) => Math.floor(random.next() * count);
  const scan = new Scan();
  const kinds = seed % 2 === 0 ? CAPACITIES : CAPACITIES.slice(1, 2);
  const largest = [Number.POSITIVE_INFINITY, 4000, 2 ** 33];
  const fit = new VectorFit(rule, (server) => scan.servers[server]!, largest);
  for (let server = 0; server < 150; server++) {
    const capacity = kinds[draw(kinds.length)]!;
    scan.servers.push({ capacity, free: [...capacity], isOpen: true });
    fit.open(server);
  }
  const table = new NeedsTable(new ResourceNames());
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
    fit.used(at);
    if (draw(3) > 0) {
      const demand = [1, 125 * draw(20), 2 ** 29 * draw(10)].slice(0, 1 + draw(3));
      const size = Math.ceil(Math.max((demand[1] ?? 0) / 250, (demand[2] ?? 0) / 2 ** 30) + 1);
      const group = { sequence: step, size, family: 0, needs: table.take(demand), count: 1 };
      scan.tasks.push(group);
      fit.add(group);
    } else if (scan.tasks.length > 0) {
      const [group] = scan.tasks.splice(draw(scan.tasks.length), 1) as [Group];
      group.count = 0;
      fit.remove(group);
    }
    const task = scan.tasks.at(-1);
    if (task !== undefined) expect(fit.serverFor(task)).toBe(scan.serverFor(rule, task));
    expect(fit.groupFor(at)).toBe(scan.groupFor(server));
    const [above, upTo] = [draw(10), 5 + draw(20)];
    expect(fit.largestOf(at, above, upTo)).toBe(scan.largestOf(server, above, upTo));
  }
}

test.each(['first', 'best'] as const)('%s fit finds the same as a scan', (rule) => {
  for (const seed of [1, 2, 3, 4]) compareWithScan(rule, seed);
});
