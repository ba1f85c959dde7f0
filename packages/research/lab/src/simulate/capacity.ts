import { parseResources, sizeOfWorker } from '@goshawk/command/cluster';
import {
  type Attributes,
  amountOf,
  formatAttributes,
  InputError,
  mayRun,
  meetsWishes,
  type PolicySettings,
  type Preset,
  placesOf,
  type Resources,
  spreadOf,
  spreadsTasks,
} from '@goshawk/core';
import type { TraceJob, TraceStage } from '@goshawk/traces';

/**
 * Returns the resources that options define for workers. CPUs do not count if workers have one, the
 * default, since that already limits them to one task.
 */
export function namedResources({
  cpus,
  resources,
  vary = [],
}: {
  readonly cpus?: number | undefined;
  readonly resources?: string | undefined;
  readonly vary?: readonly string[];
}): string[] {
  const named = Object.keys(parseResources(resources));
  const { slots } = sizeOfWorker({ cpus, resources });
  const isCounted = slots > 1 || vary.some((text) => /^(cpus|slots)=/.test(text));
  return isCounted ? [...new Set(['cpu', ...named])] : named;
}

/** A job's requirements, apart from times. */
type Needs = Partial<Pick<TraceJob, 'demand' | 'require' | 'stages' | 'prefer' | 'name' | 'gang'>>;

/** The widest stage among those with the same demand. */
interface Wide {
  readonly tasks: number;
  readonly job: string;
  readonly demand: Resources;
}

interface Cluster {
  readonly workers: number;
  /** Slots per worker. */
  readonly slots: number;
  /** Maximum number of tasks per worker that share its CPUs. Default: as many as slots. */
  readonly places?: number | undefined;
  /** Capacity per worker. */
  readonly capacity: Resources;
  /** Attributes of all workers in order. */
  readonly attributes: readonly Attributes[];
}

/** Whether tasks share a CPU. A task that requests nothing takes a whole one. */
export function isFraction(demand: Resources): boolean {
  return Object.keys(demand).length > 0 && amountOf(demand, 'cpu') < 1;
}

/** The largest needs of a workload's tasks, with the jobs that have them. */
export class WorkloadNeeds {
  #haveFractions = false;
  /** Largest demand per resource. */
  readonly #largest = new Map<string, { readonly amount: number; readonly job: string }>();
  /** The widest stage by the demand of its tasks. */
  readonly #widest = new Map<string, Wide>();
  /** The widest gang stage by the demand of its tasks. */
  readonly #widestGangs = new Map<string, Wide>();
  /** Distinct requirements of tasks and preferences of jobs, by their text. */
  readonly #required = new Map<string, Required>();
  readonly #preferred = new Map<string, { readonly wanted: Attributes; readonly job: string }>();

  /** Maximum number of tasks per worker, if they share its CPUs; undefined: as many as slots. */
  placesIn(slots: number, { packs }: Pick<Preset, 'packs'>): number | undefined {
    return packs && this.#haveFractions ? placesOf(slots) : undefined;
  }

  /** Whether the tasks of some stage start together. */
  get hasGangs(): boolean {
    return this.#widestGangs.size > 0;
  }

  /**
   * Adds the needs of a job.
   *
   * @param job undefined if it has no requirements
   * @param number position of the job in the workload, from 1
   */
  add(job: Needs | undefined, tasks: number, number: number): void {
    const name = job?.name === undefined ? `job ${number}` : `"${job.name}"`;
    const stages: readonly Pick<TraceStage, 'tasks' | 'demand' | 'require' | 'gang'>[] = job?.stages ?? [
      { tasks },
    ];
    for (const stage of stages) {
      const { demand = job?.demand ?? {}, require = job?.require, gang = job?.gang } = stage;
      const amounts = Object.entries(demand);
      if (isFraction(demand)) this.#haveFractions = true;
      for (const [resource, amount] of amounts)
        if (amount > (this.#largest.get(resource)?.amount ?? 0))
          this.#largest.set(resource, { amount, job: name });
      const key = amounts.length === 0 ? '' : JSON.stringify(demand);
      for (const widest of gang ? [this.#widest, this.#widestGangs] : [this.#widest])
        if (stage.tasks > (widest.get(key)?.tasks ?? 0))
          widest.set(key, { tasks: stage.tasks, job: name, demand });
      if (require !== undefined) this.#require(require, gang ? stage.tasks : 1, name);
    }
    if (job?.prefer === undefined) return;
    const key = formatAttributes(job.prefer);
    if (!this.#preferred.has(key)) this.#preferred.set(key, { wanted: job.prefer, job: name });
  }

  #require(wanted: Attributes, together: number, job: string): void {
    const key = formatAttributes(wanted);
    if (together > (this.#required.get(key)?.together ?? 0))
      this.#required.set(key, { wanted, together, job });
  }

  /** @throws InputError if the policy does not spread tasks that require it, or too few workers have the attribute */
  checkSpread({ policy, preset }: PolicySettings, { attributes }: Pick<Cluster, 'attributes'>): void {
    for (const { wanted, together, job } of this.#required.values()) {
      for (const { name, most } of spreadOf(wanted) ?? []) {
        if (!spreadsTasks(preset))
          throw impossible(`policy ${policy} does not spread the tasks of ${job}`, 'choose --policy goshawk');
        const values = new Set(attributes.flatMap((each) => each[name] ?? []));
        if (together > most * values.size)
          throw impossible(
            `the ${together} tasks of ${job} start together, at most ${most} per ${name}, and workers have ${values.size} values of it`,
            `describe the workers with more values: --attribute ${name}=…`,
          );
      }
    }
  }

  /**
   * Checks that every task fits a worker. Workers are identical, so a task that does not fit one would wait
   * forever.
   *
   * @throws InputError if a task fits no worker, or requires attributes that no worker has
   */
  check({ capacity, attributes }: Pick<Cluster, 'capacity' | 'attributes'>): void {
    for (const { wanted, job } of this.#required.values()) {
      if (attributes.some((each) => mayRun({ attributes: each }, { requires: wanted }))) continue;
      throw impossible(
        `no worker has the attributes that ${job} requires: ${formatAttributes(wanted)}`,
        'describe the workers with --attribute zone=eu,us',
      );
    }
    for (const [resource, { amount, job }] of this.#largest) {
      const there = Object.hasOwn(capacity, resource) ? capacity[resource]! : 0;
      if (amount <= there) continue;
      throw impossible(
        `a task of ${job} needs ${amount} of ${resource}, and a worker has ${there}`,
        `describe the workers with --resources ${resource}=${amount}`,
      );
    }
  }

  /**
   * Checks that gangs can start, for policies that start the tasks of a stage together.
   *
   * @param ofAll whether every stage is a gang, or only those marked as one
   * @throws InputError if a stage could never start, or a job prefers attributes that no worker has
   */
  checkGangs({ workers, slots, places, capacity, attributes }: Cluster, ofAll = true): void {
    for (const { tasks, job, demand } of (ofAll ? this.#widest : this.#widestGangs).values()) {
      let each = places ?? slots;
      for (const [resource, amount] of Object.entries(demand))
        if (amount > 0) each = Math.min(each, Math.floor(amountOf(capacity, resource) / amount));
      if (tasks <= each * workers) continue;
      throw impossible(
        `the ${tasks} tasks of ${job} start together, and the cluster has room for ${each * workers} of them`,
        'increase --workers or --cpus',
      );
    }
    if (!ofAll) return;
    for (const { wanted, job } of this.#preferred.values()) {
      if (attributes.some((each) => meetsWishes(wanted, each))) continue;
      throw impossible(
        `no worker has the attributes that ${job} prefers: ${formatAttributes(wanted)}`,
        'describe the workers with --attribute rack=r1,r2',
      );
    }
  }
}

/** Requirements, and the largest number of tasks with them that start together. */
interface Required {
  readonly wanted: Attributes;
  readonly together: number;
  readonly job: string;
}

function impossible(message: string, hint: string): InputError {
  return new InputError('impossible-demand', message, hint);
}
