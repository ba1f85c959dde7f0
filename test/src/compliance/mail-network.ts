import { type Address, type Message, NOBODY } from '@goshawk/core';
import type { Post } from '@goshawk/runtime';
import { Codec, DEFAULT_LIMITS, Directory, FrameWriter, openFrame } from '@goshawk/transport';

/** Every process in a test has one machine. */
const INDEX = 0;

/**
 * One process's side of the mail between processes without sockets. Each message is encoded to bytes and decoded again,
 * and names replace addresses, which differ between processes.
 */
export class ProcessMailbox implements Post {
  readonly directory = new Directory();
  readonly #network: MailNetwork;
  readonly #self: Address;
  #deliver: (from: Address, body: unknown) => void = () => {};

  constructor(network: MailNetwork, self: Address) {
    this.#network = network;
    this.#self = self;
  }

  register(_index: number, deliver: (from: Address, body: unknown) => void): void {
    this.#deliver = deliver;
  }

  unregister(_index: number): void {
    this.#deliver = () => {};
  }

  send(_fromIndex: number, to: Address, body: readonly unknown[]): void {
    const name = this.directory.nameOf(to);
    if (name !== undefined) this.#network.sent(this.#self, name, throughBytes(body));
  }

  arrive(from: Address, message: Message): void {
    this.#deliver(this.handleOf(from), throughBytes(this.#network.codec.encode(message)));
  }

  handleOf(party: Address): Address {
    return this.directory.intern(this.#network.nameOf(party));
  }

  /** NOBODY for an unknown handle. */
  partyOf(handle: Address): Address {
    const name = this.directory.nameOf(handle);
    return name === undefined ? NOBODY : this.#network.intern(name);
  }
}

/** Maps the addresses that the driver gives out to process names. */
export class MailNetwork {
  /** Reads and writes messages with the driver's addresses in them. */
  readonly codec: Codec = new Codec(this);
  readonly #names = new Map<Address, string>();
  readonly #addresses = new Map<string, Address>();
  readonly #carry: (from: Address, to: Address, message: Message) => void;

  constructor(carry: (from: Address, to: Address, message: Message) => void) {
    this.#carry = carry;
  }

  /** @param name `w1/2` is the second incarnation of w1, at the same endpoint as the first */
  open(address: Address, name: string): ProcessMailbox {
    const [plain, incarnation = '1'] = name.split('/');
    this.#learn(address, `tcp://${plain}:7000!${incarnation}/${INDEX}`);
    return new ProcessMailbox(this, address);
  }

  /** Returns the name of a party, including one at an endpoint that has never sent anything. */
  nameOf(address: Address): string {
    return this.#names.get(address) ?? this.#learn(address, `tcp://unheard-${address}:7000!*/${INDEX}`);
  }

  intern(name: string): Address {
    const address = this.#addresses.get(name);
    if (address === undefined) throw new Error(`no party is named ${name}`);
    return address;
  }

  sent(from: Address, to: string, body: unknown): void {
    this.#carry(from, this.intern(to), this.codec.decode(body));
  }

  #learn(address: Address, name: string): string {
    this.#names.set(address, name);
    this.#addresses.set(name, address);
    return name;
  }
}

function throughBytes(body: readonly unknown[]): unknown {
  let bytes: Buffer = Buffer.alloc(0);
  const writer = new FrameWriter(null, DEFAULT_LIMITS, (frame) => {
    bytes = frame.bytes;
  });
  writer.add('*', INDEX, INDEX, body);
  writer.finish();
  return openFrame(bytes, DEFAULT_LIMITS).mail[0]![2];
}
