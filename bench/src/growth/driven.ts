import { type Address, invariant, type Machine, type Message, type Millis, type Role } from '@goshawk/core';
import { Codec, Directory } from '@goshawk/transport';
import { Packr } from 'msgpackr';

const packr = new Packr({ useRecords: false, variableMapSize: true, encodeUndefinedAsNil: true });

/** A message on its way to the machine, as bytes. */
export interface EncodedMessage {
  readonly from: Address;
  readonly bytes: Buffer;
}

/** Maximum number of parties, living or gone. */
const PARTIES_MAX = 2_000_000;

/**
 * Runs one machine in virtual time, without processes and sockets, but with the real codec: the machine pays for decoding
 * what it receives and encoding what it sends.
 */
export class Driven {
  readonly #codec: Codec;
  readonly #directory = new Directory(PARTIES_MAX);
  readonly #role: Role;
  readonly #timers = new Map<string, { readonly timer: string; readonly key: number; readonly at: Millis }>();
  readonly #counts = new Map<string, number>();
  #machine: Machine | undefined;
  #parties = 0;
  #onSend: ((to: Address, message: Message) => void) | undefined;
  now: Millis = 0;

  constructor(role: Role) {
    this.#role = role;
    this.#codec = new Codec(this.#directory);
  }

  /** The machine's environment. */
  readonly environment = {
    random: () => 0.5,
    send: (to: Address, message: Message) => {
      packr.pack(this.#codec.encode(message, this.#role));
      this.#counts.set(message.type, (this.#counts.get(message.type) ?? 0) + 1);
      this.#onSend?.(to, message);
    },
    setTimer: (timer: string, key: number, at: Millis) =>
      void this.#timers.set(`${timer} ${key}`, { timer, key, at }),
    clearTimer: (timer: string, key: number) => void this.#timers.delete(`${timer} ${key}`),
    nameOf: (address: Address) => this.#directory.nameOf(address) ?? '',
  };

  start(machine: Machine<never>): void {
    this.#machine = machine as Machine;
    this.#machine.start(this.now);
  }

  /** Calls this with each message that the machine sends. */
  onSend(handle: (to: Address, message: Message) => void): void {
    this.#onSend = handle;
  }

  /** Returns the address of a new party in a new process. */
  party(role: Role): Address {
    const place = this.#parties++;
    return this.#directory.intern(`tcp://10.0.0.1:7000!${role[0]}.${place}/0`);
  }

  encoded(from: Address, message: Message): EncodedMessage {
    return { from, bytes: Buffer.from(packr.pack(this.#codec.encode(message))) };
  }

  /** Delivers these messages, one turn each. */
  deliver(arriving: Iterable<EncodedMessage>): void {
    for (const { from, bytes } of arriving) {
      this.#machine!.receive(from, this.#codec.decode(packr.unpack(bytes), undefined, this.#role), this.now);
      this.#machine!.settle?.(this.now);
    }
  }

  post(from: Address, message: Message): void {
    this.deliver([this.encoded(from, message)]);
  }

  /** Fires all timers up to this time. */
  runTo(time: Millis): void {
    for (;;) {
      let next: { readonly timer: string; readonly key: number; readonly at: Millis } | undefined;
      for (const each of this.#timers.values())
        if (each.at <= time && (next === undefined || each.at < next.at)) next = each;
      if (next === undefined) break;
      this.#timers.delete(`${next.timer} ${next.key}`);
      this.now = Math.max(this.now, next.at);
      this.#machine!.wake(next.timer as never, next.key, this.now);
      this.#machine!.settle?.(this.now);
    }
    this.now = time;
  }

  /** Number of messages of this type that the machine has sent. */
  sent(type: Message['type']): number {
    return this.#counts.get(type) ?? 0;
  }
}

/** Returns the processor time of a step, in µs, with garbage collection. */
export function costOf(step: () => void): number {
  const before = process.cpuUsage();
  step();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Returns the processor time of one of `times` equal steps, in µs. */
export function costOfEach(times: number, step: (at: number) => void): number {
  invariant(times > 0, () => 'no step was measured');
  return (
    costOf(() => {
      for (let at = 0; at < times; at++) step(at);
    }) / times
  );
}
