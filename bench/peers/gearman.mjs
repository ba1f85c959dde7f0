import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPlayer } from './play.mjs';
import { ended, freePort, listening, SLOTS, startServer, WORKERS } from './processes.mjs';

export const HEADER = '/usr/include/libgearman-1.0/version.h';

/**
 * Runs Gearman's C server with clients and workers that use its C library, without durability, its fastest
 * configuration. A slot is a thread with a connection. The server wakes one idle worker per task; the default wakes
 * all, which is slower with eight.
 */
export async function start(folder) {
  const program = join(folder, 'gearman');
  const source = fileURLToPath(new URL('gearman.c', import.meta.url));
  execFileSync('cc', ['-O2', '-o', program, source, '-lgearman', '-lpthread'], { stdio: 'inherit' });
  const port = String(await freePort());
  const server = startServer('gearmand', [
    ...['--listen', '127.0.0.1', '--port', port, '--worker-wakeup', '1'],
    ...['--log-file', 'none', '--pid-file', join(folder, 'pid')],
  ]);
  await listening(port);
  const workers = Array.from({ length: WORKERS }, () =>
    startServer(program, ['worker', port, String(SLOTS)]),
  );
  const client = await startPlayer(program, ['client', port]);
  return {
    play: client.play,
    stop: async () => {
      await client.stop();
      await Promise.all(workers.map(ended));
      await ended(server);
    },
  };
}
