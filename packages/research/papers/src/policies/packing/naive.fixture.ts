import { sumOf } from '@goshawk/core';
/**
 * The rules of the paper implemented literally, over exact fractions: sizes are integers in units of 1/WHOLE of a
 * server.
 */

export const WHOLE = 19_200n;

export interface NaiveJob {
  readonly id: number;
  readonly size: bigint;
}

interface NaiveServer {
  jobs: NaiveJob[];
  isOpen: boolean;
  configuration: number[] | undefined;
}

export function sum(jobs: readonly NaiveJob[]): bigint {
  return jobs.reduce((total, { size }) => total + size, 0n);
}

export function naiveType(size: bigint, j: number): number {
  for (let m = 0; m < j; m++) {
    const scaled = size * 2n ** BigInt(m);
    if (3n * scaled > 2n * WHOLE && scaled <= WHOLE) return 2 * m;
    if (2n * scaled > WHOLE && 3n * scaled <= 2n * WHOLE) return 2 * m + 1;
  }
  return 2 * j - 1;
}

/** Reserved size of a task, in units of 1/(2^j · WHOLE) of a server, so that a reservation of 1/2^j is exact. */
function naiveReserved(size: bigint, j: number): bigint {
  const least = 2n ** BigInt(j);
  return size * least > WHOLE ? size * least : WHOLE;
}

export function naiveKRed(j: number): number[][] {
  const unit = (type: number, count: number) =>
    Array.from({ length: 2 * j }, (_, at) => (at === type ? count : 0));
  const and = (one: number[], other: number[]) => one.map((count, at) => count + other[at]!);
  const from = (first: number) => Array.from({ length: j - first }, (_, at) => first + at);
  return [
    ...from(0).map((m) => unit(2 * m, 2 ** m)),
    ...from(1).map((m) => unit(2 * m + 1, 3 * 2 ** (m - 1))),
    ...from(2).map((m) => and(unit(1, 1), unit(2 * m, Math.floor(2 ** m / 3)))),
    ...from(1).map((m) => and(unit(1, 1), unit(2 * m + 1, 2 ** (m - 1)))),
  ];
}

export type NaivePolicy = 'fifo-ff' | 'bfjs' | 'vqs' | 'vqs-bf' | 'vqs-bf in server order';

export class NaivePacking {
  readonly policy: NaivePolicy;
  readonly j: number;
  readonly servers: NaiveServer[];
  queue: NaiveJob[] = [];
  fresh: NaiveJob[] = [];
  freed = new Set<number>();
  placed: [job: number, server: number][] = [];

  constructor(policy: NaivePolicy, j: number, servers: number) {
    this.policy = policy;
    this.j = j;
    this.servers = Array.from({ length: servers }, () => ({
      jobs: [],
      isOpen: true,
      configuration: undefined,
    }));
  }

  arrive(job: NaiveJob): void {
    for (const list of [this.queue, this.fresh]) {
      list.push(job);
      list.sort((a, b) => a.id - b.id);
    }
  }

  depart(id: number): void {
    const at = this.servers.findIndex(({ jobs }) => jobs.some((job) => job.id === id));
    const server = this.servers[at]!;
    server.jobs = server.jobs.filter((job) => job.id !== id);
    this.freed.add(at);
  }

  /** Processes one batch. */
  run(): void {
    this.placed = [];
    for (const server of this.servers) if (server.jobs.length === 0) server.configuration = undefined;
    this.#run();
    this.fresh = [];
    this.freed = new Set();
  }

  room(at: number): bigint {
    const { isOpen, jobs } = this.servers[at]!;
    return isOpen ? WHOLE - sum(jobs) : -1n;
  }

  typed(type: number): NaiveJob[] {
    return this.queue.filter(({ size }) => naiveType(size, this.j) === type);
  }

  /** Room that VQS may still reserve for fillers, in the unit of `naiveReserved`. */
  fillerRoom(at: number): bigint {
    const { jobs, configuration } = this.servers[at]!;
    const keeps = configuration?.[1] === 1;
    const fillers = jobs.filter(({ size }) => !keeps || naiveType(size, this.j) !== 1);
    const room = (WHOLE * 2n ** BigInt(this.j)) / (keeps ? 3n : 1n);
    return room - fillers.reduce((total, { size }) => total + naiveReserved(size, this.j), 0n);
  }

  fillerOf(configuration: readonly number[]): number {
    return configuration.findIndex((count, type) => count > 0 && !(type === 1 && count === 1));
  }

  reserved(size: bigint): bigint {
    return naiveReserved(size, this.j);
  }

  #run(): void {
    if (this.policy === 'fifo-ff') return this.#firstFit();
    if (this.policy === 'vqs') return this.#virtualQueues();
    const isLiteral = this.policy === 'vqs-bf in server order';
    for (const at of this.#open().filter((one) => isLiteral || this.freed.has(one))) {
      if (this.policy === 'bfjs') this.#bestFitServer(at);
      else this.#configured(at);
    }
    for (const job of isLiteral ? [] : this.fresh) {
      while (this.queue.includes(job)) {
        const at = this.#tightest(job);
        if (at === undefined) break;
        if (this.policy === 'vqs-bf' && this.servers[at]!.jobs.length === 0) this.#configured(at);
        else this.#put(job, at);
      }
    }
  }

  #firstFit(): void {
    for (let head = this.queue[0]; head !== undefined; head = this.queue[0]) {
      const { size } = head;
      const at = this.#open().find((one) => this.room(one) >= size);
      if (at === undefined) return;
      this.#put(head, at);
    }
  }

  #virtualQueues(): void {
    for (;;) {
      const before = this.placed.length;
      for (const at of this.#open()) {
        const server = this.servers[at]!;
        if (server.jobs.length === 0) server.configuration = this.#heaviest();
        if (server.configuration === undefined) continue;
        const [large] = this.typed(1);
        const hasLarge = server.jobs.some(({ size }) => naiveType(size, this.j) === 1);
        if (server.configuration[1] === 1 && !hasLarge && large !== undefined) this.#put(large, at);
        const filler = this.fillerOf(server.configuration);
        for (let head = this.typed(filler)[0]; head !== undefined; head = this.typed(filler)[0]) {
          if (this.reserved(head.size) > this.fillerRoom(at)) break;
          this.#put(head, at);
        }
      }
      if (this.placed.length === before) return;
    }
  }

  /** VQS-BF at one server. */
  #configured(at: number): void {
    const server = this.servers[at]!;
    if (server.jobs.length === 0) server.configuration = this.#heaviest();
    const { configuration } = server;
    if (configuration !== undefined) {
      if (configuration[1] === 1) this.#putLargest(this.typed(1), at);
      const filler = this.fillerOf(configuration);
      const held = () => server.jobs.filter(({ size }) => naiveType(size, this.j) === filler).length;
      while (held() < configuration[filler]! && this.#putLargest(this.typed(filler), at));
    }
    this.#bestFitServer(at);
  }

  #bestFitServer(at: number): void {
    while (this.#putLargest(this.queue, at));
  }

  #putLargest(jobs: readonly NaiveJob[], at: number): boolean {
    const fitting = jobs.filter(({ size }) => size <= this.room(at));
    const [largest] = fitting.sort((a, b) => (a.size === b.size ? a.id - b.id : a.size > b.size ? -1 : 1));
    if (largest === undefined) return false;
    this.#put(largest, at);
    return true;
  }

  #tightest({ size }: NaiveJob): number | undefined {
    const fitting = this.#open().filter((at) => this.room(at) >= size);
    return fitting.sort((a, b) => Number(this.room(a) - this.room(b)) || a - b)[0];
  }

  #heaviest(): number[] | undefined {
    const lengths = Array.from({ length: 2 * this.j }, (_, type) => this.typed(type).length);
    const weight = (counts: readonly number[]) => sumOf(counts, (count, type) => count * lengths[type]!);
    const sets = naiveKRed(this.j);
    const largest = Math.max(...sets.map(weight));
    return largest === 0 ? undefined : sets.find((counts) => weight(counts) === largest);
  }

  #put(job: NaiveJob, at: number): void {
    this.servers[at]!.jobs.push(job);
    this.queue = this.queue.filter(({ id }) => id !== job.id);
    this.placed.push([job.id, at]);
  }

  #open(): number[] {
    return [...this.servers.keys()].filter((at) => this.servers[at]!.isOpen);
  }
}
