import { setTimeout as pause } from 'node:timers/promises';
import type { Millis, Random } from '@goshawk/core';
import type { FaultyRole, SoakCluster, SoakProcess } from './processes.js';

/** Relative frequency of each role, and the range of its downtime, in ms. */
const CHOICES: readonly { role: FaultyRole; share: number; awayMs: readonly [Millis, Millis] }[] = [
  { role: 'worker', share: 0.52, awayMs: [200, 5_000] },
  { role: 'scheduler', share: 0.26, awayMs: [200, 8_000] },
  // Exceeds its lease by some time.
  { role: 'central', share: 0.12, awayMs: [3_000, 12_000] },
  { role: 'postgres', share: 0.1, awayMs: [1_000, 15_000] },
];
const SHARE_OF_KILLS = 0.6;
/** The maximum downtime, longer than two leases. */
const STOPPED_MS: readonly [Millis, Millis] = [500, 12_000];

export interface FaultCounts {
  readonly kills: Record<FaultyRole, number>;
  readonly stops: Record<FaultyRole, number>;
}

/** Kills and stops processes of the cluster at random, and restarts or continues each after a while. */
export class Faults {
  readonly counts: FaultCounts = {
    kills: { central: 0, scheduler: 0, worker: 0, postgres: 0 },
    stops: { central: 0, scheduler: 0, worker: 0, postgres: 0 },
  };
  readonly #cluster: SoakCluster;
  readonly #random: Random;
  readonly #note: (line: string) => void;
  readonly #returning = new Set<Promise<void>>();

  constructor(cluster: SoakCluster, random: Random, note: (line: string) => void) {
    this.#cluster = cluster;
    this.#random = random;
    this.#note = note;
  }

  /** Chooses one of the running processes. */
  inject(): void {
    const { role, awayMs } = this.#choose();
    const running = this.#cluster.posts.filter((post) => post.role === role && post.isAwake);
    const post = running[Math.floor(this.#random.next() * running.length)];
    if (post === undefined) return;
    const kills = this.#random.next() < SHARE_OF_KILLS;
    const backMs = this.#between(kills ? awayMs : STOPPED_MS);
    const back = kills ? this.#kill(post, backMs) : this.#stop(post, backMs);
    this.counts[kills ? 'kills' : 'stops'][role]++;
    this.#returning.add(back);
    void back.finally(() => this.#returning.delete(back));
  }

  /** Resolves when all processes are running again. */
  async healed(): Promise<void> {
    while (this.#returning.size > 0) await Promise.all(this.#returning);
  }

  async #kill(post: SoakProcess, backMs: Millis): Promise<void> {
    this.#note(`${post.name} is killed, and started again after ${backMs.toFixed(0)} ms`);
    await this.#cluster.kill(post);
    await pause(backMs);
    // A process that fails to start is counted with the unexpected exits.
    await this.#cluster.startAt(post).catch(() => {});
  }

  async #stop(post: SoakProcess, backMs: Millis): Promise<void> {
    this.#note(`${post.name} is stopped for ${backMs.toFixed(0)} ms`);
    this.#cluster.stop(post);
    await pause(backMs);
    this.#cluster.continue(post);
  }

  #choose(): (typeof CHOICES)[number] {
    let left = this.#random.next();
    for (const choice of CHOICES) {
      left -= choice.share;
      if (left < 0) return choice;
    }
    return CHOICES[0]!;
  }

  #between([from, to]: readonly [Millis, Millis]): Millis {
    return from + this.#random.next() * (to - from);
  }
}
