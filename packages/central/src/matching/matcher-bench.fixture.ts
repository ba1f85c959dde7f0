import {
  type Address,
  DEFAULT_POLICY,
  type Message,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type PolicySettings,
  PRESETS,
  Random,
} from '@goshawk/core';
import { Matcher } from './matcher.js';

export const OWNER = 900 as Address;
export const worker = (index: number): Address => index as Address;
export const record = (index: number, slots: number, capacity = NO_RESOURCES) => ({
  address: worker(index),
  place: index,
  slots,
  capacity,
});

/** A matcher, workers that pull, and owners that hear of them. */
export class Bench {
  readonly matcher: Matcher;
  readonly sent: { to: Address; message: Message }[] = [];
  timerAt: Millis | undefined;
  now: Millis = 0;

  constructor(policy: Partial<PolicySettings> = {}, workers = 0, slots = 1, lostAfterMs = 0) {
    const random = Random.seeded('matcher');
    const settings = {
      ...DEFAULT_POLICY,
      preset: { ...PRESETS.goshawk },
      cutoffMs: 1_000,
      reserve: 0,
      patience: 0,
      longPatience: 0,
      longWeight: 0,
      longDoubt: null,
      lateTurns: 0,
      lateShort: false,
      ...policy,
    };
    this.matcher = new Matcher(
      {
        random: () => random.next(),
        send: (to, message) => this.sent.push({ to, message }),
        setTimer: (_timer, _key, at) => {
          this.timerAt = at;
        },
        clearTimer() {},
        nameOf: String,
      },
      settings,
      lostAfterMs,
    );
    for (let i = 0; i < workers; i++) {
      this.matcher.setOpen(record(i, slots), true);
      this.pull(i, { free: slots });
    }
  }

  pull(index: number, fields: Partial<MessageOf<'pull'>> = {}): void {
    const nothing = { heard: [], free: 1, spare: NO_RESOURCES, long: 0, shortMs: 0, runs: [] };
    const message = { type: 'pull' as const, ...nothing, ...fields };
    this.matcher.pulled(worker(index), message, this.now);
  }

  need(job: number, fields: Partial<MessageOf<'need'>> = {}): void {
    const message = {
      type: 'need' as const,
      job,
      stage: 0,
      long: false,
      tasks: 1,
      matches: 0,
      estimateMs: 100,
      demand: NO_RESOURCES,
      part: 'judged' as const,
      jobTasks: 1,
      ageMs: 0,
      estimateFollows: undefined,
      ...fields,
    };
    this.matcher.needed(OWNER, message, this.now);
  }

  /** Which job each worker was given since the last look, as `job@worker`. */
  taken(): string[] {
    const taken = this.sent.flatMap(({ message }) =>
      message.type === 'matched' ? message.workers.map((at) => `${message.job}@${at.worker}`) : [],
    );
    this.sent.length = 0;
    return taken;
  }
}
