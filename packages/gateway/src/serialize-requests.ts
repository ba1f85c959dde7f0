import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { LIMITS } from './limits.js';

/** Begins a request when it is the turn of its sender. */
type Arrive = (request: IncomingMessage, begin: () => Promise<void>) => Promise<void>;

type Waiting = readonly [IncomingMessage, ServerResponse];

/**
 * Processes one request per connection at a time. Node.js starts all pipelined requests at once, so a client
 * with thousands would delay other clients. A connection with too many pipelined requests is closed.
 */
export function serializeRequests(
  handle: RequestListener,
  arrive: Arrive = (_, begin) => begin(),
): RequestListener {
  /** Connections with a request in progress. */
  const waiting = new WeakMap<object, Waiting[]>();
  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    response.once('close', () => next(request.socket));
    void arrive(request, async () => {
      if (!request.socket.destroyed) handle(request, response);
    });
  };
  const next = (socket: IncomingMessage['socket']): void => {
    const first = socket.destroyed ? undefined : waiting.get(socket)?.shift();
    if (first === undefined) waiting.delete(socket);
    else begin(...first);
  };
  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const line = waiting.get(socket);
    if (line === undefined) {
      waiting.set(socket, []);
      begin(request, response);
    } else if (line.length < LIMITS.pipelinedMax) {
      line.push([request, response]);
    } else {
      socket.destroy();
    }
  };
}
