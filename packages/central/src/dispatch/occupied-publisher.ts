import type { ClusterSettings, Environment, Message, Millis } from '@goshawk/core';
import type { Registry } from '../cluster/registry.js';
import { OccupiedBitmap, type OccupiedSource } from './occupied-bitmap.js';

/** Sends schedulers the workers that long tasks occupy, under policies in which schedulers may probe. */
export class OccupiedPublisher {
  readonly #env: Environment<'occupied'>;
  readonly #registry: Registry;
  readonly #source: OccupiedSource;
  readonly #pauseMs: Millis;
  readonly #occupied = new OccupiedBitmap();
  readonly #isOn: boolean;
  #armed = false;

  constructor(
    env: Environment<'occupied'>,
    registry: Registry,
    source: OccupiedSource,
    { policy, timings }: ClusterSettings,
  ) {
    this.#env = env;
    this.#registry = registry;
    this.#source = source;
    this.#pauseMs = policy.bitmapMs;
    const { by } = policy.preset.short;
    // Owners probe if central is silent. Only heartbeats detect that.
    const mayProbe = by === 'seeking' || (by === 'matching' && timings.heartbeatMs > 0);
    this.#isOn = mayProbe && policy.bitmapMs > 0;
  }

  /** Schedules an update, because long tasks may have started or ended. */
  publishSoon(now: Millis): void {
    if (this.#armed || !this.#isOn) return;
    this.#armed = true;
    this.#env.setTimer('occupied', 0, now + this.#pauseMs);
  }

  /** Schedules an update for a new scheduler, which has no bitmap yet. */
  schedulerJoined(now: Millis): void {
    this.#occupied.schedulerJoined();
    this.publishSoon(now);
  }

  publish(): void {
    this.#armed = false;
    const bits = this.#occupied.update(this.#source, this.#registry.rowCount);
    if (bits === undefined) return;
    const message: Message = { type: 'occupied', bits };
    for (const scheduler of this.#registry.schedulers.members.keys()) this.#env.send(scheduler, message);
  }
}
