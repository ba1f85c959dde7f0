import {
  type Address,
  type Environment,
  effectiveScope,
  type Lane,
  type MessageOf,
  type PolicySettings,
  type Scope,
} from '@goshawk/core';
import type { SchedulerCounters } from './contract.js';
import type { IdleHints } from './idle-hints.js';
import type { Job, Stage } from './job.js';
import type { Members } from './members.js';

/**
 * Probes of one batch that are out at a time. All that a scheduler sends in one turn waits in the queue of its
 * peer, and what does not fit there is dropped; many workers may be behind one peer.
 */
const PROBES_OUT_MAX = 200_000;

/**
 * Batch probing (Sparrow; Hawk §3.5): a batch of t tasks sends `probeRatio`·t probes to random workers, and
 * whichever worker comes to serve one first gets the next task. The prober keeps count of where a batch's
 * probes are, so that those on a lost worker can be made up for.
 */
export class Prober {
  readonly #env: Environment;
  readonly #members: Members;
  readonly #counters: SchedulerCounters;
  readonly #hints: IdleHints;

  constructor(env: Environment, members: Members, hints: IdleHints, counters: SchedulerCounters) {
    this.#env = env;
    this.#members = members;
    this.#hints = hints;
    this.#counters = counters;
  }

  /**
   * Sees to it that a batch has probes out for every task that could start. Sends the whole batch's probes at
   * first, and later only what has been used up or lost on the way.
   */
  topUp(job: Job, stage: Stage, policy: PolicySettings): void {
    const wanted = Math.min(stage.waiting, job.headroom);
    const missing = wanted - stage.probes.out;
    if (missing <= 0) return;
    const room = PROBES_OUT_MAX - stage.probes.out;
    const probes = Math.min(room, Math.max(missing, Math.ceil(policy.probeRatio * missing)));
    if (probes <= 0) return;
    const scope: Scope = effectiveScope(policy.preset, job.route.over);
    const { demand } = stage.spec;
    const seeks = job.route.by !== 'probing';
    const bySize = seeks && policy.workerOrder === 'size';
    const message: MessageOf<'probe'> = {
      type: 'probe',
      job: job.number,
      stage: stage.index,
      long: job.class === 'long',
      lane: LANE,
      demand,
      sizeMs: bySize ? (job.spec.estimateMs ?? 0) * stage.waiting : 0,
    };
    stage.recalled = false;
    const send = (to: Address): void => {
      this.#counters.probesSent++;
      stage.probes.add(to, 1);
      this.#env.send(to, message);
    };
    const { probeDraw } = policy;
    if (!seeks) return this.#members.draw(probeDraw, scope, demand, probes, this.#env, send);
    // Beside the random ones, since by now the worker may have found something elsewhere.
    const suits = (worker: Address): boolean => this.#members.takesProbe(worker, scope, demand);
    for (const worker of this.#hints.take(missing, suits)) send(worker);
    this.#members.drawUnoccupied(probeDraw, scope, demand, probes, this.#env, send);
  }

  /** A probe was served, or given back: it is out no more. */
  used(stage: Stage, worker: Address, probes: number): void {
    if (stage.recalled) return;
    stage.probes.add(worker, -probes);
  }

  moved(stage: Stage, from: Address, to: Address, probes: number): void {
    if (stage.recalled) return;
    stage.probes.add(from, -probes);
    // A thief that is gone has taken them along.
    if (this.#members.get(to) !== undefined) stage.probes.add(to, probes);
  }

  workerLost(stage: Stage, worker: Address): void {
    stage.probes.add(worker, -stage.probes.at(worker));
  }

  /** No task of the batch is left: its probes find out by themselves (`lazy`), or are told (`proactive`). */
  batchIsBound(job: Job, stage: Stage, policy: PolicySettings): void {
    if (policy.cancel === 'lazy' || stage.probes.out === 0) return;
    this.recall(job, stage);
  }

  /** Takes all probes of the batch back. */
  recall(job: Job, stage: Stage): void {
    for (const worker of stage.probes.workers()) {
      this.#env.send(worker, { type: 'cancelProbes', job: job.number, stage: stage.index });
    }
    stage.probes.clear();
    stage.recalled = true;
  }
}

const LANE: Lane = 'normal';
