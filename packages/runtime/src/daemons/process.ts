import { type Address, InputError, nameProblem, ownerFor, present, quoted, type Role } from '@goshawk/core';
import {
  type AddressNames,
  anyIncarnationOf,
  Directory,
  describeAuthFailure,
  incarnationOf,
  type KeyRing,
  type Logger,
  Mailbox,
  MailboxError,
  type MailboxOptions,
  MEMBER_ROLES,
  parseEndpoint,
  permitsName,
  randomName,
  watchKeys,
} from '@goshawk/transport';
import { Audit, auditedEvent } from '../audit/audit.js';
import { RotatedFile } from '../audit/rotated-file.js';
import { Host } from '../driver/index.js';
import {
  type HttpOptions,
  type HttpServer,
  openHttpServer,
  pagesOf,
  type RoleView,
  reachableAt,
  type Shown,
} from '../http/index.js';
import { isLoopbackEndpoint } from '../loopback.js';
import { openTracing, type Tracing } from '../tracing/index.js';
import { checkAddressConflict, endOnAddressConflict } from './address-conflict.js';
import { watchClock } from './clock-watch.js';
import { DescriptorWatch } from './descriptor-watch.js';
import { droppedLogLines } from './logging.js';
import { endWhenMoved } from './moved.js';

export interface ProcessOptions {
  /** `tcp://HOST:PORT`; port 0 for any. */
  readonly bind: string;
  /** Address for peers, if it differs from the listen address. */
  readonly advertise?: string | undefined;
  /** Encrypts all traffic, and rejects peers without a key of the cluster. */
  readonly keys?: KeyRing | undefined;
  /** Allows listening beyond loopback without keys. */
  readonly insecure?: boolean | undefined;
  /** Audit log: a line for each request that changes something, each refusal, and each change of keys. */
  readonly auditLog?: string | undefined;
  /** Address of the HTTP server; none by default. */
  readonly http?: HttpOptions | undefined;
  readonly logger: Logger;
}

/** Reason why a daemon ended: on request, or because it can no longer work. */
export type CloseReason = { readonly kind: 'closed' } | { readonly kind: 'failed'; readonly error: Error };

/** The base of every daemon: one mailbox, and one host that drives its machines. */
export interface DaemonProcess {
  readonly mailbox: Mailbox;
  readonly host: Host;
  /** Undefined if tracing is off. */
  readonly tracing: Tracing | undefined;
  /** `HOST:PORT` of the HTTP server as other processes reach it. */
  readonly http: string | undefined;
  readonly ended: Promise<CloseReason>;
  /** Returns the address of a party of this process. */
  addressOf(index: number): Address;
  /** Returns the full name of a party of this process. */
  nameOf(index: number): string;
  /** Full names of all parties. */
  readonly names: AddressNames;
  /** Returns the address of a party by its full name. */
  addressNamed(name: string): Address;
  /** Returns the address of the central scheduler that is now at an endpoint. */
  centralAt(endpoint: string): Address;
  /** Explains why the process at an endpoint rejects our connection; undefined if it accepts it or does not answer. */
  refusalBy(endpoint: string): string | undefined;
  /** Sets the view of the HTTP server, which reports "starting" until then. */
  show(view: () => RoleView): void;
  close(): Promise<void>;
  /** Ends the process immediately, without sending pending messages. */
  fail(error: Error): void;
}

/**
 * Opens the mailbox and the host of this process.
 *
 * @throws InputError if it cannot listen on the endpoint, or must not without keys
 */
export async function openProcess(role: Role, options: ProcessOptions): Promise<DaemonProcess> {
  checkEndpoint(options.bind, '--bind');
  if (options.advertise !== undefined) checkEndpoint(options.advertise, '--advertise');
  requireKeys(options);
  const incarnation = incarnationOf(role, randomName(), options.keys?.name);
  const tracing = await openTracing(role, incarnation, options.logger);
  const directory = new Directory();
  const refusals = new Map<string, string>();
  const auditFile =
    options.auditLog === undefined ? undefined : new RotatedFile(options.auditLog, options.logger);
  const mailbox = await openMailbox({
    bind: options.bind,
    ...present({ advertise: options.advertise, keys: options.keys }),
    incarnation,
    directory,
    logger: options.logger,
    onRejected: (attempts) =>
      auditFile?.write(auditedEvent('connection', role, { outcome: 'refused', ...attempts })),
    onDisconnected: (parties) => host.disconnected(parties),
    onAuthFailure: (endpoint, why) => {
      if (why === undefined) refusals.delete(endpoint);
      else refusals.set(endpoint, describeAuthFailure(endpoint, why));
    },
  });
  // Several centrals may share one advertised name; other-centrals.ts handles that.
  const isAdvertised = options.advertise !== undefined && role !== 'central';
  if (isAdvertised) await closeIfRejected(mailbox, checkAddressConflict(mailbox));
  let end: (reason: CloseReason) => void = () => {};
  const ended = new Promise<CloseReason>((resolve) => {
    end = resolve;
  });
  const close = async (reason: CloseReason): Promise<void> => {
    host.close();
    await http?.close();
    // A failed process must not send its pending messages.
    await mailbox.close(reason.kind === 'failed' ? 0 : undefined);
    await tracing?.close();
    auditFile?.close();
    end(reason);
  };
  let http: HttpServer | undefined;
  const fail = (error: Error): void => void close({ kind: 'failed', error });
  if (isAdvertised) endOnAddressConflict(mailbox, options.logger, ended, fail);
  endWhenMoved(options, mailbox.endpoint, ended, fail);
  const host = new Host({
    mailbox,
    names: directory,
    roleOf: (party) => directory.roleOf(party),
    ...(options.keys && {
      clientKeyOf: (party) => mailbox.clientKeyOf(party),
      permitsName: (party, name) => mailbox.permitsName(party, name),
      claimsProblem: (party, claims) => mailbox.claimsProblem(party, claims),
    }),
    ...(auditFile && { audit: auditOf(auditFile, mailbox, directory, options.keys !== undefined) }),
    seed: incarnation,
    logger: options.logger,
    onFatal: (error) => fail(error),
  });
  watchClock(options.logger, () => host.now(), ended);
  new DescriptorWatch(options.logger).begin(ended);
  followKeys(options, mailbox, ended, (about) =>
    auditFile?.write(auditedEvent('keys', role, { outcome: 'done', ...about })),
  );
  let view = (): RoleView => STARTING;
  try {
    http = await openHttp(options, {
      role,
      endpoint: mailbox.endpoint,
      hasKeys: options.keys !== undefined,
      mailbox: mailbox.counters,
      machines: () => host.counters(),
      lateMs: host.lateMs,
      droppedLogLines,
      view: () => view(),
    });
  } catch (error) {
    await close({ kind: 'closed' });
    throw error;
  }
  return {
    mailbox,
    host,
    tracing,
    http: http && reachableAt(http.url, mailbox.endpoint),
    ended,
    refusalBy: (endpoint) => refusals.get(endpoint),
    show: (ofRole) => {
      view = ofRole;
    },
    addressOf: (index) => mailbox.addressOf(index),
    nameOf: (index) => directory.nameOf(mailbox.addressOf(index))!,
    names: directory,
    addressNamed: (name) => directory.intern(name),
    centralAt: (endpoint) =>
      directory.intern(
        `${checkEndpoint(endpoint, '--central-url')}!${anyIncarnationOf('central')}/${FIRST_PARTY}`,
      ),
    close: () => close({ kind: 'closed' }),
    fail,
  };
}

function auditOf(file: RotatedFile, mailbox: Mailbox, directory: Directory, hasKeys: boolean): Audit {
  return new Audit({
    write: (entry) => file.write(entry),
    keyOf: (client) => (hasKeys ? (mailbox.clientKeyOf(client)?.name ?? 'client') : null),
    ownerOf: (client, type) => ownerFor(mailbox.clientKeyOf(client), type),
    nameOf: (client) => directory.nameOf(client) ?? '',
    addressOf: (client) => mailbox.lastAddressOf(client),
  });
}

async function openHttp(
  { http, insecure, keys, logger }: ProcessOptions,
  shown: Shown,
): Promise<HttpServer | undefined> {
  if (http === undefined) return undefined;
  const server = await openHttpServer(
    { insecure, isSealed: keys !== undefined, ...http },
    (counters) => pagesOf(shown, counters),
    logger,
  );
  logger.info({ url: server.url }, 'serving HTTP');
  return server;
}

/** Applies replaced and revoked keys without a restart. */
function followKeys(
  { keys, logger }: ProcessOptions,
  mailbox: Mailbox,
  ended: Promise<unknown>,
  audit: (about: object) => void,
): void {
  if (keys === undefined) return;
  const namesIn = (ring: KeyRing) => [...ring.clients.keys(), ...ring.members.keys()];
  let known = namesIn(keys);
  const end = watchKeys(
    keys,
    (ring) => {
      mailbox.rekey(ring);
      const individual = namesIn(ring);
      audit({
        file: ring.path,
        generations: ring.generations.length,
        added: individual.filter((name) => !known.includes(name)),
        revoked: known.filter((name) => !individual.includes(name)),
      });
      known = individual;
      logger.info(
        { event: 'keys-changed', path: ring.path, generations: ring.generations.length, individual },
        'keys were reloaded',
      );
    },
    (problem) =>
      logger.error(
        { event: 'keys-refused', problem },
        'the previous keys remain in use: the new key file is not usable',
      ),
  );
  void ended.then(end);
}

/** Closes the mailbox if `checked` rejects, and rethrows. */
async function closeIfRejected(mailbox: Mailbox, checked: Promise<void>): Promise<void> {
  try {
    await checked;
  } catch (error) {
    await mailbox.close(0);
    throw error;
  }
}

async function openMailbox(options: MailboxOptions): Promise<Mailbox> {
  try {
    return await Mailbox.open(options);
  } catch (error) {
    throw refusal(error);
  }
}

function requireKeys({ bind, keys, insecure }: ProcessOptions): void {
  if (keys !== undefined || insecure || isLoopbackEndpoint(bind)) return;
  throw new InputError(
    'insecure-bind',
    `${bind} is reachable from other machines, and without keys anyone there could run commands here`,
    'create keys with `goshawk keygen` and pass --keys; or bind to 127.0.0.1; or pass --insecure on a trusted network',
  );
}

/** @throws InputError if the name does not fit in a message, or belongs to another key */
export function checkName(name: string, keys: KeyRing | undefined): void {
  const problem = nameProblem(name);
  if (problem !== undefined)
    throw new InputError('bad-name', `the name ${quoted(name)} is not valid: ${problem}`);
  const role = MEMBER_ROLES.find((each) => each === keys?.role);
  if (role === undefined || permitsName(keys!, role, keys!.name, name)) return;
  const own = keys!.members.get(keys!.name ?? '')?.names.join(', ');
  throw new InputError(
    'bad-name',
    `its key does not permit the name ${quoted(name)}`,
    own === undefined ? 'use the key of that name' : `its key permits ${own}`,
  );
}

/** @throws InputError that names the option */
export function checkEndpoint(endpoint: string, option: string): string {
  try {
    parseEndpoint(endpoint);
  } catch (error) {
    throw refusal(error, `${option}: `);
  }
  return endpoint;
}

/** Converts errors of the mailbox to input errors, because command options cause them. */
function refusal(error: unknown, option = ''): unknown {
  if (!(error instanceof MailboxError)) return error;
  const code = error.code.toLowerCase().replaceAll('_', '-');
  return new InputError(code, `${option}${error.message}`, '', { cause: error });
}

const STARTING: RoleView = { notReady: ['it is starting'], readings: () => ({}) };

/**
 * Returns the messages for `/readyz` of a process that is in no cluster.
 * @param cause if known
 * @param lost endpoint of the central that has welcomed it before
 */
export function joinMessages(cause: string | undefined, lost?: string): readonly string[] {
  if (cause !== undefined) return [`it has not joined its cluster: ${cause}`];
  if (lost === undefined) return ['it has not joined its cluster yet'];
  return [`it has lost its cluster: central at ${lost} does not answer; running tasks continue`];
}

/** Party 0 of a process: central, a scheduler, or its first worker. */
export const FIRST_PARTY = 0;

/**
 * Resolves when `isJoined` returns true. Polls, because machines have no callbacks. Warns once if joining takes long.
 */
export function whenJoined(
  isJoined: () => boolean,
  ended: Promise<unknown>,
  { central, logger }: { readonly central: string; readonly logger: Logger },
): Promise<void> {
  return new Promise((resolve) => {
    const slow = setTimeout(() => {
      logger.warn(
        { central },
        'no answer from central yet: check that it is running and that --central-url is its address',
      );
    }, JOIN_PATIENCE_MS);
    const poll = setInterval(() => {
      if (!isJoined()) return;
      stop();
      resolve();
    }, JOINED_POLL_MS);
    const stop = (): void => {
      clearTimeout(slow);
      clearInterval(poll);
    };
    slow.unref();
    poll.unref();
    void ended.then(stop);
  });
}

const JOINED_POLL_MS = 20;
/** Time in ms after which joining counts as slow: central answers in milliseconds, and an operator looks at the log. */
const JOIN_PATIENCE_MS = 2_500;
