import { Mailbox } from './mailbox.js';

/**
 * A process of its own for the tests: prints its name once it is there. Party 0 answers every message with itself; a
 * message of one number keeps its event loop busy for so many ms.
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
