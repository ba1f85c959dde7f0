import {
  type Address,
  effectiveScope,
  listAttributes,
  type MessageOf,
  type Millis,
  type Scope,
} from '@goshawk/core';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state.js';
import { IdleHints } from './idle-hints.js';

/**
 * Probes of one batch that are out at a time; more follow as they are used. All that a scheduler sends in one turn waits in the
 * queue of its peer, and what does not fit there is dropped; many workers may be behind one peer.
 */
const PROBES_OUT_MAX = 200_000;
/** Few workers use few probes at a time, and to send many takes long. */
const PROBES_A_WORKER = 20;
const PROBES_OUT_MIN = 10_000;
/**
 * So many probes by hints save one random probe. By now a hinted worker may have found something elsewhere, so each
 * task keeps a random one in any case.
 */
const HINTS_FOR_A_RANDOM_PROBE = 2;

/**
 * Batch probing (Sparrow; Hawk §3.5): a batch of t tasks sends `probeRatio`·t probes to random workers, and
 * whichever worker comes to serve one first gets the next task. The prober keeps count of where a batch's
 * probes are, so that those on a lost worker can be made up for.
 */
export class Prober {
  /** Workers that are likely to be idle. */
  readonly hints = new IdleHints();
  readonly #s: SchedulerState;

  constructor(s: SchedulerState) {
    this.#s = s;
  }

  /**
   * Sees to it that a batch has probes out for every task that could start. Sends the whole batch's probes at
   * first, and later only what has been used up or lost on the way.
   */
  topUp(job: Job, batch: Batch): void {
    const wanted = Math.min(batch.waiting, job.headroom);
    this.#send(job, batch, wanted - batch.probes.out);
  }

  /** Sends a probe for each task that could start, whatever is believed to be out. */
  probeAgain(job: Job, batch: Batch): void {
    batch.probedAgain = true;
    this.#send(job, batch, Math.min(batch.waiting, job.headroom));
  }

  #send(job: Job, batch: Batch, missing: number): void {
    if (missing <= 0) return;
    const { env, counters } = this.#s;
    const { members, policy } = this.#s.cluster;
    const most = Math.min(PROBES_OUT_MAX, Math.max(PROBES_OUT_MIN, PROBES_A_WORKER * members.size));
    const room = most - batch.probes.out;
    const probes = Math.min(
      room,
      Math.max(missing, Math.ceil(batch.probeFactor * policy.probeRatio * missing)),
    );
    if (probes <= 0) return;
    const scope: Scope = effectiveScope(policy.preset, batch.over ?? job.route.over);
    const { spec } = batch;
    const seeks = job.route.by !== 'probing';
    const message: MessageOf<'probe'> = {
      type: 'probe',
      job: job.number,
      stage: batch.index,
      long: job.class === 'long',
      lane: batch.lane,
      demand: spec.demand,
      sizeMs: seeks ? sizeOf(job, batch) : 0,
      requires: listAttributes(spec.requires),
    };
    batch.recalled = false;
    batch.probes.expect(probes);
    const send = (to: Address): void => {
      counters.probesSent++;
      batch.probes.add(to, 1);
      env.send(to, message);
    };
    const { probeDraw } = policy;
    if (!seeks) return members.draw(probeDraw, scope, spec, probes, env, send);
    const suits = (worker: Address): boolean => members.takesProbe(worker, scope, spec);
    const hinted = this.hints.take(missing, suits);
    for (const worker of hinted) send(worker);
    const random = Math.max(
      Math.min(missing, probes),
      probes - Math.floor(hinted.length / HINTS_FOR_A_RANDOM_PROBE),
    );
    members.draw(probeDraw, scope, spec, random, env, send, true);
  }

  /** A probe was served, or given back: it is out no more. */
  used(batch: Batch, worker: Address, probes: number): void {
    if (batch.recalled) return;
    batch.probes.add(worker, -probes);
  }

  moved(batch: Batch, from: Address, to: Address, probes: number): void {
    if (batch.recalled) return;
    batch.probes.add(from, -probes);
    // A thief that is gone has taken them along.
    if (this.#s.cluster.members.has(to)) batch.probes.add(to, probes);
  }

  /**
   * No task of the batch is left: its probes find out by themselves (`lazy`), or are told (`proactive`). Those that were sent
   * again are always told: at a worker that was busy for long all of them are, and each would cost it a round trip.
   */
  batchIsBound(job: Job, batch: Batch): void {
    if (batch.probes.out === 0 || (this.#s.cluster.policy.cancel === 'lazy' && !batch.probedAgain)) return;
    this.recall(job, batch);
  }

  /** Takes all probes of the batch back. */
  recall(job: Job, batch: Batch): void {
    this.#s.counters.probesRecalled += batch.probes.out;
    for (const worker of batch.probes.byWorker().keys()) {
      this.#s.env.send(worker, { type: 'cancelProbes', job: job.number, stage: batch.index });
    }
    batch.probes.clear();
    batch.recalled = true;
    batch.probedAgain = false;
  }
}

/** By size, tasks of possibly long jobs come after all that are known to be short. */
function sizeOf(job: Job, batch: Batch): Millis {
  return batch === batch.own ? job.believedMs * batch.waiting * job.slack : Number.MAX_SAFE_INTEGER;
}
