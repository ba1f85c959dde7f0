/** Loaded before a daemon's main file. SIGUSR2 ends all its threads, as if each crashed. */
import { isMainThread, type Worker } from 'node:worker_threads';

const threads = new Set<Worker>();
if (isMainThread) {
  process.on('worker', (thread) => {
    threads.add(thread);
    thread.on('exit', () => threads.delete(thread));
  });
  process.on('SIGUSR2', () => {
    for (const thread of threads) void thread.terminate();
  });
}
