import { isMainThread } from 'node:worker_threads';

interface Closable {
  close(): void;
}

/** Sockets and monitors of this thread that are being read. */
const read = new Set<Closable>();

// zeromq.js aborts the process if a worker thread ends while one of them waits for a message.
if (!isMainThread) {
  process.on('exit', () => {
    for (const each of read) each.close();
  });
}

/**
 * Closes a socket or monitor if this worker thread exits before the reading ends. `worker.terminate()` runs no
 * handlers, so it still aborts the process.
 */
export async function whileRead(closable: Closable, reading: Promise<void>): Promise<void> {
  read.add(closable);
  try {
    await reading;
  } finally {
    read.delete(closable);
  }
}
