import {
  ANSWERS,
  type AnswerType,
  MESSAGE_TYPES,
  type Message,
  type MessageOf,
  type MessageType,
  type Question,
} from '@goshawk/core';
import { Codec, Directory, Mailbox, randomName, SILENT_LOGGER } from '@goshawk/transport';

export interface Replies {
  /**
   * Replies as declared for the question.
   * @param type if a question has several
   */
  answer(value: unknown, type?: AnswerType): void;
  refuse(code: string, message?: string, hint?: string, retryMs?: number): void;
  event(event: object): void;
  /** An answer whose fields differ from their declaration. */
  garble(value: unknown): void;
}

/** A peer's reaction to a message; `times` counts messages of this type, including this one. */
export type Script = (message: Message, replies: Replies, times: number) => void;

/** The other side of a client's requests: a real mailbox that listens, with a script instead of a machine. */
export class ScriptedPeer implements AsyncDisposable {
  readonly endpoint: string;
  /** Full name of its party. */
  readonly party: string;
  readonly received: Message[] = [];
  script: Script;
  readonly #mailbox: Mailbox;
  readonly #waiting: { type: MessageType; count: number; resolve: () => void }[] = [];

  static async start(script: Script = () => {}, bind = 'tcp://127.0.0.1:0'): Promise<ScriptedPeer> {
    const directory = new Directory();
    const mailbox = await Mailbox.open({ bind, incarnation: randomName(), directory, logger: SILENT_LOGGER });
    return new ScriptedPeer(mailbox, script);
  }

  private constructor(mailbox: Mailbox, script: Script) {
    this.#mailbox = mailbox;
    this.script = script;
    this.endpoint = mailbox.endpoint;
    this.party = `${mailbox.process}/0`;
    const codec = new Codec(mailbox.directory);
    mailbox.register(0, (from, body) => {
      const message = codec.decode(body, 'client');
      const reply = (content: Message): void => {
        mailbox.send(0, from, codec.encode(content));
      };
      const garble = (value: unknown): void => {
        const isWatch = message.type === 'watchJob';
        const type = isWatch ? 'jobProgress' : ANSWERS[message.type as Question][0];
        mailbox.send(0, from, [MESSAGE_TYPES.indexOf(type), (message as { request: number }).request, value]);
      };
      this.#receive(message, reply, garble);
    });
  }

  of<T extends MessageType>(type: T): MessageOf<T>[] {
    return this.received.filter((message) => message.type === type) as unknown as MessageOf<T>[];
  }

  /** Resolves when it has received this many messages of a type. */
  async waitFor<T extends MessageType>(type: T, count = 1): Promise<MessageOf<T>> {
    if (this.of(type).length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ type, count, resolve });
      });
    }
    return this.of(type)[count - 1]!;
  }

  close(): Promise<void> {
    return this.#mailbox.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #receive(message: Message, reply: (content: Message) => void, garble: Replies['garble']): void {
    this.received.push(message);
    const { request } = message as MessageOf<'describeJob'>;
    const replies: Replies = {
      answer: (value, type = ANSWERS[message.type as Question][0]) =>
        reply({ type, request, value } as Message),
      refuse: (code, text = '', hint = '', retryMs) =>
        reply({ type: 'refused', request, code, message: text, hint, retryMs }),
      event: (event) => {
        const { kind, ...value } = event as { kind?: string; job?: unknown };
        const isEnd = kind === 'ended';
        const news = isEnd ? { type: 'jobEnded', value } : { type: 'jobProgress', value: value.job };
        reply({ ...news, request } as Message);
      },
      garble,
    };
    this.script(message, replies, this.of(message.type).length);
    for (const waiting of this.#waiting.splice(0)) {
      if (this.of(waiting.type).length >= waiting.count) waiting.resolve();
      else this.#waiting.push(waiting);
    }
  }
}
