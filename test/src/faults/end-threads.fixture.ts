/** Loaded before a daemon's main file: SIGUSR2 ends all threads that it has started, as a crash of each would. */
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
