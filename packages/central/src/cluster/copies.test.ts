import { type Address, DEFAULT_POLICY, LIVE_TIMINGS, type Message, type MessageOf } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Central } from '../central.js';

const { heartbeatMs, leaseMs } = LIVE_TIMINGS;
const CLIENT = 99 as Address;

type Lineage = NonNullable<MessageOf<'enlist'>['lineage']>;

/** A central that can restart, an original scheduler, and a copy of its data folder at another address. */
class Bench {
  #said: { to: Address; message: Message }[] = [];
  #now = 0;
  #addresses = 0;
  readonly #earlier: Address[] = [];
  #central = this.#started();
  original = this.#incarnation();
  readonly #copy: { address: Address; lineage: Lineage; readonly earlier: readonly Address[] };
  isOriginalReplaced = false;
  /** Whether central has a data folder. */
  hasFolder = false;
  readonly stored = new Map<string, number>();

  constructor(copyOf: Lineage['copyOf'], starts: number) {
    for (let start = 0; start < starts; start++) this.startOriginal();
    this.#copy = { address: 50 as Address, lineage: { moves: 0, copyOf }, earlier: [...this.#earlier] };
  }

  #started(): Central {
    const central = new Central(
      { name: 'central', self: 98 as Address, settings: { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS } },
      {
        random: () => 0.5,
        send: (to, message) => void this.#said.push({ to, message }),
        setTimer() {},
        clearTimer() {},
        nameOf: (address) => `tcp://host${address}:1!s/0`,
        journalMoves: new Map(this.stored),
        journalMoved: (tag, moves) => void (this.hasFolder && this.stored.set(tag, moves)),
      },
    );
    central.start(this.#now);
    return central;
  }

  #incarnation(): Address {
    const address = (10 + this.#addresses++) as Address;
    this.#earlier.push(address);
    return address;
  }

  #ask(from: Address, message: Message): string[] {
    this.#said = [];
    this.#central.receive(from, message, this.#now);
    return this.#said.flatMap(({ to, message: { type } }) => (to === from ? type : []));
  }

  #enlist(from: Address, name: string, earlier: readonly Address[], lineage?: Lineage): string[] {
    const place = { name, tag: 'tag', endpoint: `tcp://host${from}:1`, http: undefined };
    const state = { epoch: 0, adopted: false, durable: true, draining: false };
    const previousIncarnations = [...earlier];
    const given = lineage === undefined ? {} : { lineage };
    return this.#ask(from, { type: 'enlist', ...place, ...state, previousIncarnations, ...given });
  }

  pass(ms: number): void {
    for (const end = this.#now + ms; this.#now < end; ) {
      this.#now = Math.min(end, this.#now + heartbeatMs / 2);
      this.#central.wake('lease', 0, this.#now);
    }
  }

  /** The original is heard. @returns whether it was refused */
  hearOriginal(): boolean {
    const answers = this.#enlist(this.original, 's0', this.#earlier.slice(0, -1));
    this.isOriginalReplaced ||= answers.includes('superseded');
    return !answers.includes('welcome');
  }

  startOriginal(): void {
    this.original = this.#incarnation();
    this.hearOriginal();
  }

  leave(): void {
    this.#ask(this.original, { type: 'leave' });
  }

  breakConnection(): void {
    this.#central.disconnected(this.original, this.#now);
  }

  restartCentral(): void {
    this.#central = this.#started();
  }

  /** The copy asks. @returns whether it may continue the jobs */
  askAsCopy(): boolean {
    const copy = this.#copy;
    const isWelcome = this.#enlist(copy.address, 's7', copy.earlier, copy.lineage).includes('welcome');
    if (isWelcome && copy.lineage.copyOf !== undefined)
      copy.lineage = { moves: copy.lineage.moves + 1, copyOf: undefined };
    return isWelcome;
  }

  /** @returns whether central accepts the takeover */
  takeOver(name: string): boolean {
    return this.#ask(CLIENT, { type: 'takeOverFrom', request: 1, scheduler: name }).includes('takeover');
  }
}

/** What may happen to the original while a copy asks. */
const EVENT = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 30 * leaseMs }) }),
  fc.record({
    kind: fc.constantFrom('hear' as const, 'break' as const, 'central restarts' as const, 'restart' as const),
  }),
);

function apply(bench: Bench, event: { readonly kind: string; readonly ms?: number }): void {
  if (event.kind === 'pass') bench.pass(event.ms!);
  else if (event.kind === 'hear') bench.hearOriginal();
  else if (event.kind === 'break') bench.breakConnection();
  else if (event.kind === 'central restarts') bench.restartCentral();
  else bench.startOriginal();
}

test('no silence, disconnection or restart lets a copy of a running scheduler take its place', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3 }), fc.array(EVENT, { maxLength: 30 }), (starts, events) => {
      const bench = new Bench('running', starts);
      bench.hearOriginal();
      for (const event of events) {
        apply(bench, event);
        expect(bench.askAsCopy()).toBe(false);
        expect(bench.hearOriginal() && bench.isOriginalReplaced).toBe(false);
      }
      // The original continues.
      bench.pass(2 * leaseMs);
      expect(bench.hearOriginal()).toBe(false);
    }),
    { numRuns: 300 },
  );
});

test('an operator lets a copy continue once the original is silent for a lease, and the original is then refused for good', () => {
  fc.assert(
    fc.property(fc.array(EVENT, { maxLength: 10 }), fc.constantFrom('s0', 's7'), (events, name) => {
      const bench = new Bench('running', 0);
      for (const event of events) apply(bench, event);
      bench.hearOriginal();
      expect(bench.askAsCopy()).toBe(false);
      expect(bench.takeOver(name)).toBe(false);
      bench.pass(leaseMs + heartbeatMs);
      expect(bench.askAsCopy()).toBe(false);
      expect(bench.takeOver(name)).toBe(true);
      expect(bench.askAsCopy()).toBe(true);
      expect(bench.askAsCopy()).toBe(true);
      expect(bench.hearOriginal() && bench.isOriginalReplaced).toBe(true);
      // Also after a restart of central, whichever asks first.
      bench.restartCentral();
      bench.hearOriginal();
      expect(bench.askAsCopy()).toBe(true);
      expect(bench.hearOriginal()).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test.each(['stopped', 'restored'] as const)(
  'a copy that was %s continues without an operator if the original has left, and only then',
  (copyOf) => {
    const bench = new Bench(copyOf, 0);
    bench.hearOriginal();
    bench.pass(2 * leaseMs);
    expect(bench.askAsCopy()).toBe(false);
    bench.hearOriginal();
    bench.leave();
    expect(bench.askAsCopy()).toBe(true);
  },
);

test('a copy of a stopped scheduler that has started again since is refused, also after it has left', () => {
  const bench = new Bench('stopped', 0);
  bench.startOriginal();
  bench.pass(leaseMs);
  expect(bench.askAsCopy()).toBe(false);
  bench.leave();
  expect(bench.askAsCopy()).toBe(false);
});

test('a copy of a stopped scheduler continues in a cluster that does not know the original, after one lease', () => {
  const bench = new Bench('stopped', 0);
  expect(bench.askAsCopy()).toBe(false);
  bench.pass(leaseMs);
  expect(bench.askAsCopy()).toBe(true);
});

test('a central with a data folder refuses a replaced original, also after its own restart and while the copy is down', () => {
  const bench = new Bench('stopped', 0);
  bench.hasFolder = true;
  bench.pass(2 * leaseMs);
  bench.hearOriginal();
  bench.leave();
  expect(bench.askAsCopy()).toBe(true);
  bench.restartCentral();
  expect(bench.hearOriginal()).toBe(true);
  expect(bench.askAsCopy()).toBe(true);
});
