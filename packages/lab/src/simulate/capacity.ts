import {
  type Attributes,
  amountOf,
  formatAttributes,
  InputError,
  mayRun,
  meetsWishes,
  type Resources,
} from '@goshawk/core';
import type { TraceJob } from '@goshawk/traces';

/** The most that any task of a workload needs, of each resource by itself, and which job's it is. */
export class LargestDemands {
  readonly #byName = new Map<string, { readonly amount: number; readonly job: string }>();
  /** Jobs of which each task needs something. */
  #needing = 0;
  /** What tasks require, by its text, and of which job. */
  readonly #required = new Map<string, { readonly requires: Attributes; readonly job: string }>();

  /** @param number the job's place in the workload, from 1 */
  add(job: Pick<TraceJob, 'demand' | 'require' | 'stages' | 'name'>, number: number): void {
    const { demand, stages } = job;
    for (const { require = job.require } of stages ?? [{}])
      if (require !== undefined)
        this.#required.set(formatAttributes(require), { requires: require, job: nameOf(job, number) });
    if (demand === undefined && stages === undefined) return;
    const demands = stages?.map((stage) => stage.demand ?? demand) ?? [demand];
    if (demands.every((needed) => Object.values(needed ?? {}).some((amount) => amount > 0))) this.#needing++;
    for (const needed of demands) {
      for (const [resource, amount] of Object.entries(needed ?? {})) {
        if (amount <= (this.#byName.get(resource)?.amount ?? 0)) continue;
        this.#byName.set(resource, { amount, job: nameOf(job, number) });
      }
    }
  }

  /**
   * Workers are alike: what fits one by each resource fits all of them, and what does not would wait for ever.
   *
   * @param slots 0: no fixed number
   * @param jobs of the workload
   * @param attributes of each worker
   * @throws InputError when some task has no room on any worker, requires what none has, or would fit one without end
   */
  check(capacity: Resources, slots: number, jobs: number, attributes: readonly Attributes[]): void {
    for (const { requires, job } of this.#required.values()) {
      if (attributes.some((each) => mayRun({ attributes: each }, { requires }))) continue;
      throw new InputError(
        'impossible-demand',
        `no worker has what ${job} requires: ${formatAttributes(requires)}`,
        'say what workers have: --attribute zone=eu,us',
      );
    }
    if (slots === 0 && this.#needing < jobs) {
      throw new InputError(
        'impossible-demand',
        `--slots none: tasks of ${jobs - this.#needing} of ${jobs} jobs need nothing, and would fit a worker without end`,
        'take a workload whose jobs say what tasks need, such as packing',
      );
    }
    for (const [resource, { amount, job }] of this.#byName) {
      const there = Object.hasOwn(capacity, resource) ? capacity[resource]! : 0;
      if (amount <= there) continue;
      throw new InputError(
        'impossible-demand',
        `a task of ${job} needs ${amount} of ${resource}, and a worker has ${there}`,
        `say what workers have: --resources ${resource}=${amount}`,
      );
    }
  }
}

type Wishes = Partial<Pick<TraceJob, 'demand' | 'stages' | 'prefer' | 'name'>>;

/** The widest stages of a workload, and what its jobs prefer: for policies that start the tasks of a stage together. */
export class GangNeeds {
  /** By what each of their tasks needs. */
  readonly #widest = new Map<string, { tasks: number; job: string; demand: Resources | undefined }>();
  readonly #preferred = new Map<string, { prefer: NonNullable<Wishes['prefer']>; job: string }>();

  /** @param number the job's place in the workload, from 1 */
  add(job: Wishes | undefined, tasks: number, number: number): void {
    const stages = job?.stages ?? [{ tasks, demand: undefined }];
    for (const stage of stages) {
      const demand = stage.demand ?? job?.demand;
      const key = demand === undefined ? '' : JSON.stringify(demand);
      if (stage.tasks <= (this.#widest.get(key)?.tasks ?? 0)) continue;
      this.#widest.set(key, { tasks: stage.tasks, job: nameOf(job, number), demand });
    }
    if (job?.prefer === undefined) return;
    const key = formatAttributes(job.prefer);
    if (!this.#preferred.has(key)) this.#preferred.set(key, { prefer: job.prefer, job: nameOf(job, number) });
  }

  /** @throws InputError when some stage could never start, or a job prefers what no worker has */
  check({
    workers,
    slots,
    capacity,
    attributes,
  }: {
    readonly workers: number;
    readonly slots: number;
    readonly capacity: Resources;
    readonly attributes: readonly Attributes[];
  }): void {
    for (const { tasks, job, demand = {} } of this.#widest.values()) {
      let each = slots;
      for (const [resource, amount] of Object.entries(demand))
        if (amount > 0) each = Math.min(each, Math.floor(amountOf(capacity, resource) / amount));
      if (tasks <= each * workers) continue;
      throw new InputError(
        'impossible-demand',
        `the ${tasks} tasks of ${job} start together, and the cluster has room for ${each * workers} of them`,
        'give more --workers or --slots',
      );
    }
    for (const { prefer, job } of this.#preferred.values()) {
      if (attributes.some((each) => meetsWishes(prefer, each))) continue;
      throw new InputError(
        'impossible-demand',
        `no worker has what ${job} prefers: ${formatAttributes(prefer)}`,
        'say what workers have: --attribute rack=r1,r2',
      );
    }
  }
}

function nameOf(job: Pick<Wishes, 'name'> | undefined, number: number): string {
  return job?.name === undefined ? `job ${number}` : `"${job.name}"`;
}
