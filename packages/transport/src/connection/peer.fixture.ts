import { Mailbox } from './mailbox.js';

/**
 * A separate test process: `node peer.fixture.js BIND INCARNATION [PEER] [stay]`. Prints its process name
 * once it is ready; BIND `-` makes it a client. Party 0 replies to every message with its incarnation and the
 * message. With PEER it sends a message there, and closes the mailbox immediately unless it stays.
 */
const [bind = '', incarnation = '', peer, stay] = process.argv.slice(2);

const mailbox = await Mailbox.open({
  ...(bind !== '-' && { bind }),
  incarnation,
  logger: { debug() {}, warn: console.error, error: console.error },
  limits: { closeFlushMs: 300 },
});

mailbox.register(0, (from, body) => {
  mailbox.send(0, from, [incarnation, body]);
});

console.log(mailbox.process);

if (peer !== undefined) mailbox.send(0, mailbox.directory.intern(`${peer}/0`), ['hello']);
if (peer !== undefined && stay === undefined) await mailbox.close();
