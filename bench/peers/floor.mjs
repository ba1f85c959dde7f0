import { pack, unpack } from 'msgpackr';
import { Dealer } from 'zeromq';
import { ended, freePort, startServer, startWorkers } from './processes.mjs';

/** Measures bare ZeroMQ and msgpack: a broker with strict slots between a client and workers. */
export async function start() {
  const url = `tcp://127.0.0.1:${await freePort()}`;
  const broker = startServer(process.execPath, [new URL('floor-broker.mjs', import.meta.url).pathname, url]);
  const stopWorkers = await startWorkers('floor-worker.mjs', { url });
  const socket = new Dealer({ linger: 0 });
  socket.connect(url);
  const waiting = new Map();
  const reading = (async () => {
    for await (const [frame] of socket) {
      const { job } = unpack(frame);
      waiting.get(job)();
      waiting.delete(job);
    }
  })();
  let jobs = 0;
  const queue = [];
  let isSending = false;
  /** A socket sends one message at a time. */
  const flush = async () => {
    if (isSending) return;
    isSending = true;
    while (queue.length > 0) await socket.send(queue.shift());
    isSending = false;
  };
  const run = (tasks, work) =>
    new Promise((resolve) => {
      waiting.set(++jobs, resolve);
      queue.push(pack({ job: jobs, tasks, work }));
      void flush();
    });
  return {
    run,
    stop: async () => {
      socket.close();
      await reading;
      await stopWorkers();
      await ended(broker);
    },
  };
}
