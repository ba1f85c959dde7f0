import { setTimeout as delay } from 'node:timers/promises';
import { Dealer } from 'zeromq';
import { FrameWriter, type PackedFrame } from '../frames/frame.js';
import { hasHostName, parseEndpoint, resolveEndpoint } from '../identity/endpoint.js';
import type { DialOption } from '../identity/identification.js';
import { type MailboxLimits, PARTY_INDEX_MAX } from '../limits.js';
import { forEachEvent } from '../sockets/monitor.js';
import { dealerOptions } from '../sockets/socket-options.js';

/** The process that answers at this process's advertised address; undefined if none is reachable from here. */
export type ReachedProcess = 'itself' | 'another' | undefined;

interface SelfProbe {
  readonly endpoint: string;
  readonly incarnation: string;
  readonly dialOptions: readonly DialOption[];
  readonly limits: MailboxLimits;
  /** Returns whether the probe has arrived at this process. */
  hasArrived(): boolean;
}

/** Interval of checks. Waiting counts checks, not time, so that a suspended process does not give up early. */
const TURN_MS = 50;
const TURNS_TO_CONNECT = 20;
const TURNS_TO_ARRIVE = 20;

/**
 * Sends a frame over the network to the advertised address. If it is accepted but does not arrive here, another
 * process receives all messages for this one.
 */
export async function probeSelf(probe: SelfProbe): Promise<ReachedProcess> {
  for (const way of probe.dialOptions) {
    const reached = await probeBy(way, probe);
    if (reached !== undefined) return reached;
  }
  return undefined;
}

async function probeBy(way: DialOption, probe: SelfProbe): Promise<ReachedProcess> {
  const { endpoint, limits } = probe;
  let socket: Dealer | undefined;
  let isConnected = false;
  try {
    socket = new Dealer(dealerOptions(limits, way, false));
    void forEachEvent(socket, ({ type }) => {
      if (type === 'handshake') isConnected = true;
      if (type === 'disconnect') isConnected = false;
    });
    const at = hasHostName(parseEndpoint(endpoint)) ? await resolveEndpoint(endpoint) : endpoint;
    socket.ipv6 = at.includes('[');
    socket.connect(at);
    void socket.send(frameFor(probe).bytes).catch(() => {});
    let turnsConnected = 0;
    for (let turn = 0; turn < TURNS_TO_CONNECT || isConnected; turn++) {
      if (probe.hasArrived()) return 'itself';
      if (isConnected && ++turnsConnected > TURNS_TO_ARRIVE) return 'another';
      await delay(TURN_MS);
    }
    return undefined;
  } catch {
    // A name that cannot be resolved, or a lack of sockets, does not show another process.
    return undefined;
  } finally {
    socket?.close();
  }
}

function frameFor({ incarnation, limits }: SelfProbe): PackedFrame {
  const frames: PackedFrame[] = [];
  const writer = new FrameWriter(null, limits, (frame) => frames.push(frame));
  writer.add(incarnation, 0, PARTY_INDEX_MAX, []);
  writer.finish();
  return frames[0]!;
}
