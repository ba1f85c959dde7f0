import { Dealer } from 'zeromq';
import type { Carrier, Transmission } from './carrier.js';
import { hasHostName, parseEndpoint, resolveEndpoint } from './endpoint.js';
import type { PackedFrame } from './frame.js';
import type { MailboxLimits } from './limits.js';
import type { ThrottledLog } from './log.js';
import { type Receiver, receive } from './receive.js';
import { dealerOptions } from './socket-options.js';

export interface DealerOptions {
  readonly endpoint: string;
  /** Name of this process; the peer knows the connection by it. */
  readonly process: string;
  readonly limits: MailboxLimits;
  readonly log: ThrottledLog;
  /** For a client: takes what the peer answers over this connection. */
  readonly receiver?: Receiver;
}

/** Carries frames to a process that listens. Waits, without end, for one that cannot be reached. */
export class DealerCarrier implements Carrier {
  private readonly endpoint: string;
  private readonly log: ThrottledLog;
  private readonly socket: Dealer;
  private readonly redialTimer: NodeJS.Timeout | undefined;
  private dialled: string | undefined;

  /** @throws InvalidEndpointError, or ZeroMQ's error if there are no more sockets to be had. */
  constructor({ endpoint, process, limits, log, receiver }: DealerOptions) {
    const parsed = parseEndpoint(endpoint);
    this.endpoint = endpoint;
    this.log = log;
    this.socket = new Dealer(dealerOptions(limits, process, receiver !== undefined));
    if (hasHostName(parsed)) {
      void this.dial();
      this.redialTimer = setInterval(() => this.redial(), limits.redialIntervalMs).unref();
    } else {
      this.connect(endpoint);
    }
    if (receiver !== undefined) {
      void receive(this.socket, receiver, limits, log);
    }
  }

  async transmit(frame: PackedFrame): Promise<Transmission> {
    try {
      await this.socket.send(frame.bytes);
      return 'sent';
    } catch (error) {
      if (!this.socket.closed) {
        this.log.warn(this.endpoint, 'send', `cannot send to ${this.endpoint}: ${(error as Error).message}`);
      }
      return 'gone';
    }
  }

  close(lingerMs: number): void {
    clearInterval(this.redialTimer);
    this.socket.linger = lingerMs;
    this.socket.close();
  }

  /** A process that was moved to another machine keeps its host name, and gets another address. */
  private redial(): void {
    if (!this.socket.writable) {
      void this.dial();
    }
  }

  private async dial(): Promise<void> {
    try {
      const resolved = await resolveEndpoint(this.endpoint);
      if (!this.socket.closed && resolved !== this.dialled) {
        this.connect(resolved);
      }
    } catch (error) {
      this.log.warn(this.endpoint, 'dial', (error as Error).message);
    }
  }

  private connect(resolved: string): void {
    if (this.dialled !== undefined) {
      this.socket.disconnect(this.dialled);
    }
    const isIpv6 = resolved.includes('[');
    if (this.socket.ipv6 !== isIpv6) {
      this.socket.ipv6 = isIpv6;
    }
    this.socket.connect(resolved);
    this.dialled = resolved;
  }
}
