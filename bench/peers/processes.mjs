import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Slots of all workers together, in so many processes. */
export const WORKERS = 2;
export const SLOTS = 4;

/** A port of loopback that was free a moment ago. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits until somebody listens there. */
export async function listening(port) {
  for (let left = 200; left > 0; left--) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nobody listens on port ${port}`);
}

/** Starts `file` for each worker, which says `ready`; what it says else goes to `heard`. @returns how to end them */
export async function startWorkers(file, options, heard = () => {}) {
  const children = Array.from({ length: WORKERS }, () =>
    fork(new URL(file, import.meta.url), [JSON.stringify({ ...options, slots: SLOTS })], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  );
  const ready = children.map(async (child) => {
    for (;;) {
      const [message] = await once(child, 'message');
      if (message === 'ready') return child.on('message', heard);
    }
  });
  await Promise.all(ready);
  return () => Promise.all(children.map(ended));
}

/** Ends a process, and waits for that. */
export async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** @param isQuiet what it says on stderr is nothing that anybody needs */
export function startServer(command, args, env = {}, isQuiet = false) {
  const server = spawn(command, args, {
    stdio: ['ignore', 'ignore', isQuiet ? 'ignore' : 'inherit'],
    env: { ...process.env, ...env },
  });
  server.once('error', ({ message }) => {
    console.error(`bench:peers: ${message}; install ${command}, or leave out by --peers who needs it`);
    process.exit(2);
  });
  return server;
}

/** Counts the tasks that have not ended, for peers that tell of each and not of jobs. */
export class Countdown {
  #left = 0;
  #waiting = [];

  /** @returns once nothing is left, after so many more tasks */
  of(tasks) {
    this.#left += tasks;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  ended() {
    if (--this.#left > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
