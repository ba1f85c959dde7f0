import { FrameWriter, type Mail, type PackedFrame } from '../frames/frame.js';
import { DEFAULT_LIMITS } from '../limits.js';
import { Mailbox, type MailboxOptions } from './mailbox.js';

/** Shared test helpers: frames, mailboxes that close at the end, and waiting for messages. */

/** Packs a frame for a target. @param incarnation of the sender, if the frame states it */
export function packFrame(target: string, mail: readonly Mail[], sender: string | null = null): Buffer {
  const frames: PackedFrame[] = [];
  const writer = new FrameWriter(sender, DEFAULT_LIMITS, (frame) => frames.push(frame));
  for (const [from, to, body] of mail) writer.add(target, from, to, body);
  writer.finish();
  return Buffer.concat(frames.map(({ bytes }) => bytes));
}

export interface LoggedLine {
  readonly level: 'warn' | 'error';
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

export function recordingLogger() {
  const lines: LoggedLine[] = [];
  const record = (level: 'warn' | 'error') => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } });
  };
  return { lines, debug() {}, warn: record('warn'), error: record('error') };
}

/** Opens mailboxes, remembers them, and closes them all. */
export class Mailboxes {
  readonly opened: Mailbox[] = [];
  readonly logger = recordingLogger();
  #drawn = 0;

  async open(options: Partial<MailboxOptions> = {}): Promise<Mailbox> {
    return this.#add({ bind: 'tcp://127.0.0.1:0', ...options });
  }

  /** A process that does not listen. */
  async openClient(options: Partial<MailboxOptions> = {}): Promise<Mailbox> {
    return this.#add(options);
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.opened.splice(0).map((mailbox) => mailbox.close()));
  }

  async #add(options: Partial<MailboxOptions>): Promise<Mailbox> {
    const mailbox = await Mailbox.open({
      incarnation: `i${++this.#drawn}`,
      logger: this.logger,
      ...options,
      limits: { closeFlushMs: 200, reconnectIntervalMs: 10, ...options.limits },
    });
    this.opened.push(mailbox);
    return mailbox;
  }
}

export interface Received {
  readonly from: string | undefined;
  readonly body: unknown;
}

/** A party that records the messages it receives, and lets a test wait for them. */
export class Inbox {
  readonly received: Received[] = [];
  readonly #waiting: { count: number; resolve: () => void }[] = [];

  constructor(mailbox: Mailbox, index = 0) {
    mailbox.register(index, (from, body) => {
      this.received.push({ from: mailbox.directory.nameOf(from), body });
      for (const { count, resolve } of this.#waiting) {
        if (this.received.length >= count) resolve();
      }
    });
  }

  get bodies(): unknown[] {
    return this.received.map(({ body }) => body);
  }

  /** Resolves when `count` messages have arrived since the start. */
  async until(count: number): Promise<void> {
    if (this.received.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    }
  }
}
