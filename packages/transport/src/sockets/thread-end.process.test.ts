import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';

const RECEIVE = new URL('../../dist/sockets/receive.js', import.meta.url).href;
const MONITOR = new URL('../../dist/sockets/monitor.js', import.meta.url).href;
const ZEROMQ = import.meta.resolve('zeromq');

it.each([
  ['exits', 'process.exit(0);'],
  ['throws', "setTimeout(() => { throw new Error('thrown'); });"],
])('a thread that reads a socket and %s does not abort the process', async (_, end) => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const thread = `
    const { Dealer } = await import(${JSON.stringify(ZEROMQ)});
    const { receive } = await import(${JSON.stringify(RECEIVE)});
    const { forEachEvent } = await import(${JSON.stringify(MONITOR)});
    const socket = new Dealer({ linger: 0 });
    void forEachEvent(socket, () => {});
    socket.connect('tcp://127.0.0.1:${port}');
    void receive(socket, () => 1, { turnMessagesMax: 10 }, { warn() {} });
    await new Promise((resolve) => setTimeout(resolve, 100));
    ${end}`;
  const program = `
    import { Worker } from 'node:worker_threads';
    const thread = new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(thread)}`)}));
    thread.on('error', () => {});
    thread.on('exit', () => setTimeout(() => console.log('alive'), 200));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect({ stdout, stderr }).toEqual({ stdout: 'alive\n', stderr: '' });
  server.close();
});
