import {
  type Address,
  type ClientKey,
  type Environment,
  InvariantError,
  type Machine,
  MESSAGES,
  type Message,
  type MessageOf,
  type Millis,
  purposeOf,
  type Random,
  type Role,
  rightsFor,
  scopeOf,
} from '@goshawk/core';
import {
  type Body,
  type Codec,
  DecodeError,
  EncodeError,
  type ThrottledLog,
  type WorkerClaims,
} from '@goshawk/transport';
import type { Audit } from '../audit/audit.js';
import type { PartyOptions, Post } from './contract.js';
import type { Input } from './input.js';
import { MessageCounters } from './message-counters.js';
import type { NamedTimers } from './timers.js';

/** The host's services for a party. */
interface PartyContext {
  readonly codec: Codec;
  readonly mailbox: Post;
  readonly timers: NamedTimers;
  readonly random: Random;
  readonly complaints: ThrottledLog;
  readonly nameOf: (address: Address) => string;
  readonly roleOf: (address: Address) => Role | undefined;
  readonly clientKeyOf: ((address: Address) => ClientKey | undefined) | undefined;
  readonly permitsName: ((address: Address, name: string) => boolean) | undefined;
  readonly claimsProblem: ((address: Address, claims: WorkerClaims) => string | undefined) | undefined;
  readonly audit: Audit | undefined;
}

/**
 * One machine with its environment and messages. An invalid message, received or sent, is counted, logged and
 * dropped, as if the network had lost it: one bad message must not end the process.
 */
export class Party {
  readonly name: string;
  readonly role: Role;
  readonly machine: Machine;
  readonly counters = new MessageCounters();
  /** Whether it was removed from its host. */
  isRemoved = false;
  readonly #index: number;
  readonly #context: PartyContext;

  constructor(
    { index, name, role }: PartyOptions,
    context: PartyContext,
    build: (environment: Environment) => Machine,
  ) {
    this.name = name;
    this.role = role;
    this.#index = index;
    this.#context = context;
    this.machine = build({
      random: () => context.random.next(),
      send: (to, message) => this.#send(to, message),
      setTimer: (timer, key, at) => context.timers.set(timer, key, at),
      clearTimer: (timer, key) => context.timers.clear(timer, key),
      holdsBack: (to) => context.mailbox.holdsBack?.(to) ?? false,
      nameOf: (address) => context.nameOf(address),
      clientKeyOf: (address) => context.clientKeyOf?.(address),
      counted: () => ({ messages: this.counters.read() }),
    });
  }

  /** Calls the entry for an input. Rethrows exceptions of the machine. */
  step(input: Input, now: Millis): void {
    switch (input.kind) {
      case 'start':
        return this.machine.start(now);
      case 'message':
        return this.machine.receive(input.from, input.message, now);
      case 'timer':
        this.counters.wakes++;
        return this.machine.wake(input.timer, input.key, now);
      case 'disconnected':
        return this.machine.disconnected?.(input.from, now);
      case 'settle':
        return this.machine.settle?.(now);
      case 'event':
        return input.entry(this.machine, now);
    }
  }

  /** Returns whether the machine's invariants still hold after it threw. */
  isSound(thrown: Error): boolean {
    if (thrown instanceof InvariantError) return false;
    try {
      this.machine.checkInvariants();
      return true;
    } catch {
      return false;
    }
  }

  /** Answers a client that its request failed. @param failure number of the failure in the log */
  refuse(to: Address, message: Message, failure: number): void {
    if (!MESSAGES[message.type].from.some((role) => role === 'client')) return;
    this.#answer(to, message, {
      code: 'internal-error',
      message: `${this.name} failed on this ${message.type}: a bug in goshawk`,
      hint: `see its log as failure ${failure}; please report it`,
    });
  }

  /** Decodes a body that arrived; undefined if it is invalid or not permitted for its sender. */
  open(from: Address, body: unknown): Message | undefined {
    const { codec, roleOf, nameOf, complaints } = this.#context;
    try {
      const message = codec.decode(body, roleOf(from), this.role);
      this.counters.received(message.type);
      if (!this.#isAllowed(from, message) || !this.#mayJoin(from, message)) return undefined;
      this.#context.audit?.asked(from, message);
      return message;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.counters.refused++;
      complaints.warn(nameOf(from), 'badMessage', 'dropped a message that is not valid for this party', {
        party: this.name,
        problem: error.message,
      });
      return undefined;
    }
  }

  /** Returns whether the key of a worker or a scheduler permits its name, and what a worker says about itself. */
  #mayJoin(from: Address, message: Message): boolean {
    const { permitsName, claimsProblem, complaints, nameOf } = this.#context;
    const name = nameToJoin(message);
    if (name === undefined) return true;
    const problem =
      permitsName !== undefined && !permitsName(from, name)
        ? 'its key does not permit its name'
        : message.type === 'register'
          ? claimsProblem?.(from, message)
          : undefined;
    if (problem === undefined) return true;
    this.counters.refused++;
    complaints.warn(nameOf(from), 'not-permitted', `refused a process: ${problem}`, { name });
    return false;
  }

  /** Returns whether the client's individual key, if it has one, permits this message. */
  #isAllowed(from: Address, message: Message): boolean {
    const { clientKeyOf, roleOf } = this.#context;
    if (clientKeyOf === undefined || roleOf(from) !== 'client') return true;
    const key = clientKeyOf(from);
    if (key === undefined || scopeOf(key, message.type) !== undefined) return true;
    this.#context.audit?.forbidden(from, message, this.name);
    this.#answer(from, message, {
      code: 'not-allowed',
      message: `the key ${key.name} does not permit ${purposeOf(message.type)}`,
      hint: `it needs ${rightsFor(message.type).join(' or ')}; \`goshawk keygen client ${key.name} FOLDER --rights …\` creates another key`,
    });
    return false;
  }

  #answer(
    to: Address,
    message: Message,
    refusal: Pick<MessageOf<'refused'>, 'code' | 'message' | 'hint'>,
  ): void {
    if (!('request' in message)) return;
    this.#send(to, { type: 'refused', request: message.request, ...refusal, retryMs: undefined });
  }

  #send(to: Address, message: Message): void {
    const { audit, codec, mailbox, roleOf, nameOf, complaints } = this.#context;
    let body: Body;
    try {
      body = codec.encode(message, this.role, roleOf(to));
    } catch (error) {
      if (!(error instanceof EncodeError)) throw error;
      this.counters.unsendable++;
      complaints.warn(nameOf(to), 'unsendable', 'did not send an invalid message: a bug in goshawk', {
        party: this.name,
        problem: error.message,
      });
      return;
    }
    this.counters.sent(message.type);
    audit?.recordAnswer(to, message, this.name);
    // A confirmation may be delayed, because peers repeat unconfirmed reports only after a second.
    mailbox.send(this.#index, to, body, message.type === 'confirm');
  }
}

/** Returns the name that a message claims; none for a taken-over journal, whose name is that of its former owner. */
function nameToJoin(message: Message): string | undefined {
  if (message.type === 'register') return message.name;
  if (message.type !== 'enlist') return undefined;
  return message.adopted && message.name.endsWith(`/${message.tag}`) ? undefined : message.name;
}
