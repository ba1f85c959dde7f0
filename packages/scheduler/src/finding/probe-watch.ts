import type { Millis } from '@goshawk/core';
import type { Batch } from '../job/batch.js';

interface Silence {
  /** Of the ledger, when it began. */
  readonly changes: number;
  readonly since: Millis;
  pauseMs: Millis;
}

/**
 * Notices that nothing has been heard of the probes of a batch for long. They may wait at busy workers; or they are
 * lost, or were stolen and lost on the way, or were given back and nobody heard. From here that looks the same, so
 * more of them are sent, ever less often.
 */
export class ProbeWatch {
  readonly #silences = new WeakMap<Batch, Silence>();

  /** @returns whether more probes are to be sent */
  isSilent(batch: Batch, pauseMs: Millis, now: Millis): boolean {
    const { changes } = batch.probes;
    const silence = this.#silences.get(batch);
    if (silence?.changes !== changes) {
      this.#silences.set(batch, { changes, since: now, pauseMs });
      return false;
    }
    return now - silence.since >= silence.pauseMs;
  }

  /** More have been sent. */
  hasProbed(batch: Batch, pauseMs: Millis, now: Millis): void {
    const before = this.#silences.get(batch)?.pauseMs ?? pauseMs;
    const { changes } = batch.probes;
    this.#silences.set(batch, { changes, since: now, pauseMs: longerPause(before, pauseMs) });
  }
}

/** A pause becomes at most so many times as long as the first. */
const PAUSES_MAX = 32;

/** How long to wait, after `beforeMs`, before what was not answered is sent again: twice as long each time, up to a limit. */
export function longerPause(beforeMs: Millis, firstMs: Millis): Millis {
  return Math.min(2 * Math.max(beforeMs, firstMs), PAUSES_MAX * firstMs);
}
