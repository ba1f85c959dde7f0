import type { Address, Message } from '@goshawk/core';

/** A line records who asked for what, and how that ended. */
export interface AuditEntry {
  readonly schema: 'goshawk.audit/1';
  readonly at: string;
  readonly action: string;
  readonly outcome: 'done' | 'refused';
  /** Says why a request was refused. */
  readonly code?: string | undefined;
  /** The name of the client's own key; `client` for `client.key`; null without keys. */
  readonly key: string | null;
  /** The client's connection, and the address that its key connected from last, where that is known. */
  readonly client: string;
  readonly from: string | null;
  /** The party that was asked. */
  readonly by: string;
  readonly [about: string]: unknown;
}

/** Requests that change something, by the message that makes them. */
const ACTIONS: Readonly<Partial<Record<Message['type'], string>>> = {
  submit: 'submit',
  appendTasks: 'append',
  cancelJob: 'cancel',
  cancelTasks: 'cancel',
  cancelJobs: 'cancel',
  retryJob: 'retry',
  updateJob: 'update',
  drainWorker: 'drain',
  takeOverFrom: 'takeover',
};

/** Requests that wait for their answer, at most: the answers of those before are not audited twice. */
const PENDING_MAX = 100_000;

export interface AuditSources {
  readonly write: (entry: AuditEntry) => void;
  readonly keyOf: (client: Address) => string | null;
  /** The user in whose name alone the client may do this, whatever it says; undefined: any. */
  readonly ownerOf: (client: Address, type: Message['type']) => string | undefined;
  readonly nameOf: (client: Address) => string;
  readonly addressOf: (client: Address) => string | undefined;
}

/**
 * Sees what a party of this process is asked and answers, and writes a line for each request that changes something or is
 * refused for want of a right, once it is answered.
 */
export class Audit {
  readonly #sources: AuditSources;
  readonly #pending = new Map<string, Message>();

  constructor(sources: AuditSources) {
    this.#sources = sources;
  }

  asked(from: Address, message: Message): void {
    if (!('request' in message) || ACTIONS[message.type] === undefined) return;
    this.#pending.set(`${from} ${message.request}`, message);
    if (this.#pending.size <= PENDING_MAX) return;
    const [oldest] = this.#pending.keys();
    this.#pending.delete(oldest!);
  }

  /** A client asked for what its key has no right to. */
  forbidden(from: Address, message: Message, by: string): void {
    if ('request' in message) this.#pending.delete(`${from} ${message.request}`);
    this.#write(from, message, { outcome: 'refused', code: 'not-allowed' }, by);
  }

  answered(to: Address, answer: Message, by: string): void {
    if (this.#pending.size === 0 || !('request' in answer)) return;
    const id = `${to} ${answer.request}`;
    const message = this.#pending.get(id);
    if (message === undefined) return;
    this.#pending.delete(id);
    if (answer.type === 'refused') {
      // The client retries, and that attempt is recorded.
      if (answer.retryMs !== undefined) return;
      return this.#write(to, message, { outcome: 'refused', code: answer.code }, by);
    }
    this.#write(to, message, { outcome: 'done', ...resultOf(answer) }, by);
  }

  #write(client: Address, message: Message, end: Pick<AuditEntry, 'outcome' | 'code'>, by: string): void {
    const { write, keyOf, nameOf, addressOf, ownerOf } = this.#sources;
    const owner = ownerOf(client, message.type);
    write({
      schema: 'goshawk.audit/1',
      at: new Date().toISOString(),
      action: ACTIONS[message.type] ?? message.type,
      key: keyOf(client),
      client: nameOf(client),
      from: addressOf(client) ?? null,
      by,
      ...about(message),
      ...(owner === undefined ? {} : { user: owner }),
      ...end,
    });
  }
}

/** A line about what no client has asked for. */
export function auditedEvent(action: string, by: string, about: object): object {
  return { schema: 'goshawk.audit/1', at: new Date().toISOString(), action, by, ...about };
}

/** Names and numbers, and nothing that may be secret: no commands, no variables. */
function about(message: Message): object {
  const fields = message as unknown as Record<string, unknown>;
  const spec = fields.spec as { name?: unknown; user?: unknown } | undefined;
  return Object.fromEntries(
    [
      ['job', fields.id],
      ['worker', fields.worker],
      ['scheduler', fields.scheduler],
      ['idempotencyKey', message.type === 'submit' ? message.key : undefined],
      ['name', message.type === 'submit' ? spec?.name : fields.name],
      ['user', message.type === 'submit' ? spec?.user : fields.user],
      ['on', fields.on],
    ].filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value)),
  );
}

function resultOf(answer: Message): object {
  const value = (answer as { value?: { job?: unknown; jobs?: unknown } }).value;
  if (answer.type === 'accepted') return { job: value?.job };
  return typeof value?.jobs === 'number' ? { jobs: value.jobs } : {};
}
