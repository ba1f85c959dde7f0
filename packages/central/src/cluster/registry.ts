import {
  type Address,
  type Attribute,
  DenseIds,
  invariant,
  type Member,
  type MessageOf,
  type Millis,
  type Resources,
  type Used,
} from '@goshawk/core';
import { Schedulers } from './schedulers.js';

/** Group in which a worker is counted: its partition, or `inactive` if it accepts no work. */
export type CountedAs = 'inactive' | 'general' | 'short';

export interface WorkerRecord {
  readonly address: Address;
  /** Row number of the worker. It is small, unique, and reused after the worker is gone. */
  readonly row: number;
  readonly name: string;
  /** Its whole CPUs. */
  readonly slots: number;
  /** Maximum number of its tasks; more than slots if tasks share a CPU. */
  readonly places: number;
  readonly capacity: Resources;
  /** Attributes such as rack, zone and model. */
  readonly attributes: readonly Attribute[];
  partition: 'general' | 'short';
  /** Group in which the worker is counted; undefined before it is counted and after it leaves. */
  countedAs: CountedAs | undefined;
  /** Whether the worker reports that it accepts no new work. */
  draining: boolean;
  drained: boolean;
  /** Whether the operator requested draining. */
  drainRequested: boolean;
  /** When running tasks of the draining worker are stopped. Undefined: they may finish. */
  drainDeadline: Millis | undefined;
  /** Reason for the quarantine, and when the worker last reported it; undefined: it is not in quarantine. */
  quarantine: { readonly reason: string; readonly reportedAt: Millis } | undefined;
  lastSeenAt: Millis;
  /** When its connection last broke; undefined if it never did. */
  brokeAt: Millis | undefined;
  busy: number;
  queued: number;
  /** CPU and memory that its running tasks use; undefined: unknown. */
  used: Used | undefined;
  /** `HOST:PORT` of the HTTP server of its process. */
  readonly http: string | undefined;
}

/** The parties of the cluster. */
export class Registry {
  readonly schedulers = new Schedulers();
  /** Workers in the order in which they joined. */
  readonly #workers = new Map<Address, WorkerRecord>();
  /** Index by name; a scan would be too slow when thousands of workers register at once. */
  readonly #workerNames = new Map<string, WorkerRecord>();
  readonly #byRow: (WorkerRecord | undefined)[] = [];
  readonly #rows = new DenseIds();

  get workers(): ReadonlyMap<Address, WorkerRecord> {
    return this.#workers;
  }

  /** Upper bound of the row numbers. */
  get rowCount(): number {
    return this.#rows.end;
  }

  /** Workers with row numbers in this range, in their order. */
  *inRows(from: number, end: number): Iterable<WorkerRecord> {
    for (let row = from; row < Math.min(end, this.#byRow.length); row++) {
      const worker = this.#byRow[row];
      if (worker !== undefined) yield worker;
    }
  }

  /** Adds a worker. @param packs whether the policy lets tasks share a CPU */
  admit(from: Address, message: MessageOf<'register'>, packs: boolean, now: Millis): WorkerRecord {
    const { name, slots, capacity, draining, drainDeadlineMs, http, attributes } = message;
    const queued = message.runs.filter((run) => run.queued).length;
    return this.addWorker({
      address: from,
      row: this.#rows.take(),
      name,
      slots,
      places: packs ? (message.places ?? slots) : slots,
      capacity,
      attributes,
      partition: 'general',
      countedAs: undefined,
      draining,
      drained: false,
      // A worker that registers while draining received the request through the previous central.
      drainRequested: draining,
      drainDeadline: drainDeadlineMs === undefined ? undefined : now + drainDeadlineMs,
      quarantine: undefined,
      lastSeenAt: now,
      brokeAt: undefined,
      // Heartbeats update these.
      busy: message.runs.length - queued,
      queued,
      used: undefined,
      http,
    });
  }

  addWorker(worker: WorkerRecord): WorkerRecord {
    const { address, row, name } = worker;
    const other = this.#byRow[row] ?? this.#workers.get(address);
    invariant(
      other === undefined,
      () => `worker ${name} is added at row ${row}, but ${other!.name} is there`,
    );
    this.#workers.set(address, worker);
    this.#byRow[row] = worker;
    this.#workerNames.set(worker.name, worker);
    return worker;
  }

  removeWorker({ address, name, row }: WorkerRecord): void {
    if (this.#workers.delete(address)) {
      this.#byRow[row] = undefined;
      this.#rows.release(row);
    }
    if (this.#workerNames.get(name)?.address === address) this.#workerNames.delete(name);
  }

  workerByName(name: string): WorkerRecord | undefined {
    return this.#workerNames.get(name);
  }
}

/** Describes the worker for schedulers. */
export function memberOf(worker: WorkerRecord): Member {
  const { address, name, slots, capacity, partition, row, attributes } = worker;
  return { address, name, slots, capacity, partition, draining: !isActive(worker), row, attributes };
}

/** Returns whether the worker accepts work. */
export function isActive(worker: WorkerRecord): boolean {
  return !worker.draining && !worker.drainRequested && worker.quarantine === undefined;
}
