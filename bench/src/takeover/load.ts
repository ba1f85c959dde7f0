import { type Cluster, connect, type JobHandle } from '@goshawk/client';
import type { Millis } from '@goshawk/core';

interface AcceptedJob {
  readonly id: string;
  readonly atMs: Millis;
}

/** Submits jobs of one short task without a pause from several clients at once. Records each accepted job. */
export class Load {
  readonly accepted: AcceptedJob[] = [];
  readonly #ended: Promise<void>[] = [];
  readonly #handles: JobHandle[] = [];
  readonly client: Cluster;
  #isOver = false;

  private constructor(client: Cluster) {
    this.client = client;
  }

  static async begin(url: string, lanes: number): Promise<Load> {
    const load = new Load(await connect(url, { requestTimeoutMs: 120_000, user: 'load' }));
    for (let lane = 0; lane < lanes; lane++) load.#ended.push(load.#lane());
    return load;
  }

  /** The longest time since then without an accepted job. */
  longestGapMs(since: Millis): Millis {
    let before = since;
    let longest = 0;
    for (const { atMs } of this.accepted) {
      if (atMs < since) continue;
      longest = Math.max(longest, atMs - before);
      before = atMs;
    }
    return longest;
  }

  /** Stops submitting jobs. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#ended);
  }

  /** @returns jobs that did not complete */
  async outcomes(): Promise<string[]> {
    const ends = await Promise.all(this.#handles.map((job) => job.wait({ timeoutMs: 120_000 })));
    return ends.filter(({ state }) => state !== 'completed').map(({ id }) => id);
  }

  async #lane(): Promise<void> {
    while (!this.#isOver) {
      try {
        const job = await this.client.submit({ name: 'load', tasks: [{ sleep: 20 }] });
        this.accepted.push({ id: job.id, atMs: performance.now() });
        this.#handles.push(job);
      } catch {
        // Only accepted jobs count.
      }
    }
  }
}
