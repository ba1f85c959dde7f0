import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** The number of worker processes, and the slots of each. */
export const WORKERS = 2;
export const SLOTS = 4;

/** Returns a loopback port that was free a moment ago. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits until a server listens on the port. */
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
  throw new Error(`no server listens on port ${port}`);
}

/**
 * Starts `file` once per worker and waits for its message `ready`; later messages go to `onMessage`. @returns a
 * function that ends the workers
 */
export async function startWorkers(file, options, onMessage = () => {}) {
  const children = Array.from({ length: WORKERS }, () =>
    fork(new URL(file, import.meta.url), [JSON.stringify({ ...options, slots: SLOTS })], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  );
  const ready = children.map(async (child) => {
    for (;;) {
      const [message] = await once(child, 'message');
      if (message === 'ready') return child.on('message', onMessage);
    }
  });
  await Promise.all(ready);
  return () => Promise.all(children.map(ended));
}

/** Terminates a process and waits until it has exited. */
export async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** @param isQuiet discards stderr */
export function startServer(command, args, env = {}, isQuiet = false) {
  const server = spawn(command, args, {
    stdio: ['ignore', 'ignore', isQuiet ? 'ignore' : 'inherit'],
    env: { ...process.env, ...env },
  });
  server.once('error', ({ message }) => {
    console.error(`bench:peers: ${message}; install ${command}, or omit the peers that need it with --peers`);
    process.exit(2);
  });
  return server;
}

/** Counts the tasks that have not ended, for peers that report the ends of tasks and not of jobs. */
export class Countdown {
  #left = 0;
  #waiting = [];

  /** Adds tasks. @returns a promise that resolves when no task is left */
  of(tasks) {
    this.#left += tasks;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  ended() {
    if (--this.#left > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
