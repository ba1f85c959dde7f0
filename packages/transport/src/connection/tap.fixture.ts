import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A relay to a local endpoint that records the bytes in both directions. */
export interface Tap {
  readonly endpoint: string;
  captured(): Buffer;
  close(): void;
}

/** @param url `tcp://HOST:PORT` */
export async function openTap(url: string): Promise<Tap> {
  const passed: Buffer[] = [];
  const open: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(Number(url.split(':').at(-1)), '127.0.0.1');
    open.push(near, far);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('data', (bytes: Buffer) => {
        passed.push(bytes);
        to.write(bytes);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    captured: () => Buffer.concat(passed),
    close: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
