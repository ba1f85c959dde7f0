import { Mailbox } from './mailbox.js';

/**
 * A separate test process: prints its name once it is ready. Party 0 echoes every message; a message with one
 * number blocks its event loop for that many ms.
 */
const mailbox = await Mailbox.open({
  bind: 'tcp://127.0.0.1:0',
  incarnation: 'busy',
  logger: { debug() {}, warn: console.error, error: console.error },
});

mailbox.register(0, (from, body) => {
  const [busyMs] = body as [unknown];
  if (typeof busyMs === 'number') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs);
  mailbox.send(0, from, body as unknown[]);
});

console.log(mailbox.process);
