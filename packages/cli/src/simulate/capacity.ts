import { InputError, type Resources } from '@goshawk/core';
import type { TraceJob } from '@goshawk/traces';
import { parseResources } from '../resources.js';
import type { SimulateOptions } from './options.js';

/** What the tasks of one simulated worker may use together: a cpu a slot unless told otherwise, as live. */
export function capacityOf({ slots, resources }: Pick<SimulateOptions, 'slots' | 'resources'>): Resources {
  return { cpu: slots, ...parseResources(resources) };
}

/** The most that any task of a workload needs, of each resource by itself, and which job's it is. */
export class LargestDemands {
  readonly #byName = new Map<string, { readonly amount: number; readonly job: string }>();

  /** @param number the job's place in the workload, from 1 */
  add({ demand, stages, name }: Pick<TraceJob, 'demand' | 'stages' | 'name'>, number: number): void {
    if (demand === undefined && stages === undefined) return;
    for (const needed of stages?.map((stage) => stage.demand ?? demand) ?? [demand]) {
      for (const [resource, amount] of Object.entries(needed ?? {})) {
        if (amount <= (this.#byName.get(resource)?.amount ?? 0)) continue;
        this.#byName.set(resource, { amount, job: name === undefined ? `job ${number}` : `"${name}"` });
      }
    }
  }

  /**
   * Workers are alike: what fits one by each resource fits all of them, and what does not would wait for ever.
   *
   * @throws InputError when some task has no room on any worker
   */
  check(capacity: Resources): void {
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
