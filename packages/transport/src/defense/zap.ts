import { setImmediate as nextTurn } from 'node:timers/promises';
import { Router } from 'zeromq';
import { z85 } from '../keys/curve-text.js';
import { KEYLESS_DOMAIN } from '../sockets/socket-options.js';

/**
 * Decides which keys may connect: for each CURVE connection, ZeroMQ sends the peer's public key to a socket of this
 * process (ZAP, RFC 27). All mailboxes of a process share that socket, so each has a domain that identifies its requests.
 */
const ENDPOINT = 'inproc://zeromq.zap.01';
const VERSION = '1.0';
const ADMITTED = '200';
const REFUSED = '400';
/** Maximum number of attempts to bind: ZeroMQ releases the endpoint of a closed socket some time later. */
const BIND_TURNS_MAX = 10_000;

/** Returns whether the owner of this key (Z85) may connect; `address` is the connection's source. */
type Admission = (publicKey: string, address: string) => boolean;

const admissions = new Map<string, Admission>();
let handler: { router: Router; bound: Promise<void> } | undefined;
let lastDomain = 0;

export interface ZapDomain {
  readonly name: string;
  leave(): void;
}

/** Starts to answer requests. Resolves when it is ready; sockets must be bound only afterwards. */
export async function enterZapDomain(admission: Admission): Promise<ZapDomain> {
  const name = `goshawk-${++lastDomain}`;
  admissions.set(name, admission);
  handler ??= openHandler();
  await handler.bound;
  return { name, leave: () => leave(name) };
}

function leave(name: string): void {
  admissions.delete(name);
  if (admissions.size > 0 || handler === undefined) return;
  handler.router.close();
  handler = undefined;
}

function openHandler(): { router: Router; bound: Promise<void> } {
  const router = new Router({ linger: 0 });
  return { router, bound: bindAndServe(router) };
}

async function bindAndServe(router: Router): Promise<void> {
  for (let turn = 1; ; turn++) {
    try {
      await router.bind(ENDPOINT);
      void serve(router);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || turn === BIND_TURNS_MAX) throw error;
      await nextTurn();
    }
  }
}

async function serve(router: Router): Promise<void> {
  while (!router.closed) {
    try {
      const answer = answerTo(await router.receive());
      if (answer !== undefined) await router.send(answer);
    } catch {
      // The requester has disconnected, so the reply is not needed.
      if (!router.closed) await nextTurn();
    }
  }
}

/** Returns the reply to a ZAP request; undefined if it is not a valid request. */
function answerTo(parts: readonly Buffer[]): (Buffer | string)[] | undefined {
  const [asker, delimiter, version, request, domain, address, , mechanism, key] = parts;
  if (
    asker === undefined ||
    delimiter === undefined ||
    version?.toString() !== VERSION ||
    request === undefined
  ) {
    return undefined;
  }
  const admission = admissions.get(domain?.toString() ?? '');
  const isKeyless = domain?.toString() === KEYLESS_DOMAIN && mechanism?.toString() === 'NULL';
  const isAdmitted =
    isKeyless ||
    (admission !== undefined &&
      mechanism?.toString() === 'CURVE' &&
      key?.length === 32 &&
      admission(z85(key), address?.toString() ?? ''));
  const status = isAdmitted ? ADMITTED : REFUSED;
  return [asker, delimiter, version, request, status, isAdmitted ? 'OK' : 'unknown key', '', ''];
}
