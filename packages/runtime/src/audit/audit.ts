import { type Address, LIMITS, type Message, type Millis, PENDING_CODE, Thinning } from '@goshawk/core';

/** One audited request: the requester, the action and the outcome. */
export interface AuditEntry {
  readonly schema: 'goshawk.audit/1';
  readonly at: string;
  readonly action: string;
  readonly outcome: 'done' | 'pending' | 'refused';
  /** Error code of a refused or pending request. */
  readonly code?: string | undefined;
  /** Name of the client's key; `client` for the shared `client.key`; null without keys. */
  readonly key: string | null;
  /** The client's connection, and the last known address of its key. */
  readonly client: string;
  readonly from: string | null;
  /** The party that received the request. */
  readonly by: string;
  readonly [about: string]: unknown;
}

/** Audited requests, by message type. */
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

/** Maximum number of requests that await an answer. The oldest is dropped first and its answer is not audited. */
const PENDING_MAX = 100_000;

/**
 * Refusals of one key in this time that are all recorded. A refusal changes nothing and costs its client little, so a flood of them
 * would soon fill the log.
 */
const REFUSALS_MAX = 1_000;
const REFUSALS_MS: Millis = 60_000;

interface AuditSources {
  readonly write: (entry: AuditEntry) => void;
  readonly keyOf: (client: Address) => string | null;
  /** Returns the only user that the client may act for; undefined allows any. */
  readonly ownerOf: (client: Address, type: Message['type']) => string | undefined;
  readonly nameOf: (client: Address) => string;
  readonly addressOf: (client: Address) => string | undefined;
  /** Monotonic; default: that of the process. */
  readonly clock?: () => Millis;
}

/**
 * Observes requests to the parties of this process and their answers. Each request that changes something, or is
 * refused for lack of permission, is logged once it is answered.
 */
export class Audit {
  readonly #sources: AuditSources;
  readonly #pending = new Map<string, Message>();
  /** Requests that were recorded as pending, oldest first; a client repeats them until they are written. */
  readonly #unwritten = new Set<string>();

  /** Refusals by key. */
  readonly #refusals = new Thinning<string | null>(REFUSALS_MAX, REFUSALS_MS);

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

  /** Records a request that the client's key does not permit. */
  forbidden(from: Address, message: Message, by: string): void {
    if ('request' in message) this.#pending.delete(`${from} ${message.request}`);
    this.#write(from, message, { outcome: 'refused', code: 'not-allowed' }, by);
  }

  recordAnswer(to: Address, answer: Message, by: string): void {
    if (this.#pending.size === 0 || !('request' in answer)) return;
    const id = `${to} ${answer.request}`;
    const message = this.#pending.get(id);
    if (message === undefined) return;
    this.#pending.delete(id);
    if (answer.type === 'refused') {
      if (answer.code === PENDING_CODE) return this.#recordUnwritten(id, to, message, by);
      // The client will retry, and the retry is recorded.
      if (answer.retryMs !== undefined) return;
      return this.#write(to, message, { outcome: 'refused', code: answer.code }, by);
    }
    this.#unwritten.delete(id);
    this.#write(to, message, { outcome: 'done', ...resultOf(answer) }, by);
  }

  /** Records once that a request is pending: its client may give up before it is written. */
  #recordUnwritten(id: string, to: Address, message: Message, by: string): void {
    if (this.#unwritten.has(id)) return;
    this.#unwritten.add(id);
    if (this.#unwritten.size > PENDING_MAX) this.#unwritten.delete(this.#unwritten.values().next().value!);
    this.#write(to, message, { outcome: 'pending', code: PENDING_CODE }, by);
  }

  #write(client: Address, message: Message, end: Pick<AuditEntry, 'outcome' | 'code'>, by: string): void {
    const { write, keyOf, nameOf, addressOf, ownerOf, clock } = this.#sources;
    const owner = ownerOf(client, message.type);
    const now = (clock ?? (() => performance.now()))();
    const refusals = end.outcome === 'refused' ? this.#refusals.count(keyOf(client), now) : 0;
    if (refusals === undefined) return;
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
      ...(refusals > 0 ? { refusals } : {}),
    });
  }
}

/** Builds a line for an event that no client requested. */
export function auditedEvent(action: string, by: string, about: object): object {
  return { schema: 'goshawk.audit/1', at: new Date().toISOString(), action, by, ...about };
}

/** Returns the names and numbers of a request. Commands and variables are omitted, because they may be secret. */
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
      ['deadlineMs', fields.deadlineMs],
    ].flatMap(([name, value]): [unknown, unknown][] => {
      // A refused job is not validated, and its name may have megabytes.
      if (typeof value === 'string') return [[name, value.slice(0, LIMITS.nameLengthMax)]];
      return typeof value === 'number' || typeof value === 'boolean' ? [[name, value]] : [];
    }),
  );
}

function resultOf(answer: Message): object {
  const value = (answer as { value?: { job?: unknown; jobs?: unknown } }).value;
  if (answer.type === 'accepted') return { job: value?.job };
  return typeof value?.jobs === 'number' ? { jobs: value.jobs } : {};
}
