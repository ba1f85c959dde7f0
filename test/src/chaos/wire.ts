import { type Address, InvariantError, type Message, type Role } from '@goshawk/core';
import {
  Codec,
  clientEndpoint,
  DEFAULT_LIMITS,
  Directory,
  FrameWriter,
  Incarnations,
  incarnationOf,
  isAnyIncarnation,
  openFrame,
  type PartyName,
  parsePartyName,
  parseProcessName,
  partyName,
  placeOf,
  processName,
} from '@goshawk/transport';

/**
 * Names of parties as the running process knows them. One codec serves all processes, because compiling one for each
 * would cost more than a run.
 */
class RunningPartyNames {
  directory = new Directory();

  intern(name: string): Address {
    return this.directory.intern(name);
  }

  nameOf(address: Address): string | undefined {
    return this.directory.nameOf(address);
  }
}

const names = new RunningPartyNames();
const codec = new Codec(names);
let packed: Buffer | undefined;
const writer = new FrameWriter(null, DEFAULT_LIMITS, ({ bytes }) => {
  packed = bytes;
});

interface Peer extends PartyName {
  readonly endpoint: string;
  readonly incarnation: string;
  /** Identifies the process across incarnations. */
  readonly place: string;
}

/** Runs use the same few hundred names over and over. */
const peers = new Map<string, Peer>();

function peerNamed(name: string): Peer {
  let found = peers.get(name);
  if (found === undefined) {
    const party = parsePartyName(name);
    const process = parseProcessName(party.process)!;
    found = { ...party, ...process, place: placeOf(process) };
    peers.set(name, found);
  }
  return found;
}

export function endpointOf(name: string, role: Role): string {
  return role === 'client' ? clientEndpoint(name) : `tcp://${name}:1`;
}

/** Returns the name of any incarnation of the process at an endpoint. */
export function anyPartyOf(name: string, role: Role): string {
  return partyName(processName(endpointOf(name, role), incarnationOf(role, '*')), 0);
}

/** The names that one process knows, and its codec. It encodes and decodes exactly like the real mailbox. */
export class Wire {
  readonly role: Role;
  /** The full name of its party. */
  readonly party: string;
  readonly self: Address;
  readonly #incarnation: string;
  readonly #process: string;
  readonly #directory = new Directory();
  readonly #incarnations = new Incarnations(DEFAULT_LIMITS.incarnationGraceMs);

  constructor(name: string, role: Role, incarnation: number) {
    this.role = role;
    this.#incarnation = incarnationOf(role, String(incarnation));
    this.#process = processName(endpointOf(name, role), this.#incarnation);
    this.party = partyName(this.#process, 0);
    this.self = this.#directory.intern(this.party);
  }

  addressNamed(party: string): Address {
    return this.#directory.intern(party);
  }

  nameOf(address: Address): string {
    return this.#directory.nameOf(address) ?? `nobody (${address})`;
  }

  /** @throws EncodeError if the message is invalid */
  write(to: Address, message: Message): { bytes: Buffer; to: Peer } {
    const name = this.#directory.nameOf(to);
    if (name === undefined) throw new InvariantError(`a ${message.type} for nobody (${to})`);
    const party = peerNamed(name);
    names.directory = this.#directory;
    writer.add(
      party.incarnation,
      0,
      party.index,
      codec.encode(message, this.role, this.#directory.roleOf(to)),
    );
    writer.finish();
    return { bytes: packed!, to: party };
  }

  /**
   * @param from the full name of the sender
   * @returns undefined if the message is for another incarnation or from a superseded one
   * @throws DecodeError if it is not a message
   */
  read(from: string, bytes: Buffer, now: number): { from: Address; message: Message } | undefined {
    const frame = openFrame(Buffer.from(bytes), DEFAULT_LIMITS);
    if (frame.target !== this.#incarnation && frame.target !== incarnationOf(this.role, '*'))
      return undefined;
    const sender = peerNamed(from);
    if (isAnyIncarnation(sender.incarnation)) throw new InvariantError('a sender that is anybody');
    if (this.#incarnations.observe(sender.place, sender.incarnation, now) === 'retired') return undefined;
    const address = this.#directory.intern(from);
    names.directory = this.#directory;
    const [, , body] = frame.mail[0]!;
    return { from: address, message: codec.decode(body, this.#directory.roleOf(address), this.role) };
  }
}
