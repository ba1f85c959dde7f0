import { pack, unpack } from 'msgpackr';
import { Dealer } from 'zeromq';
import { perform } from './work.mjs';

const { url, slots } = JSON.parse(process.argv[2]);
const socket = new Dealer({ linger: 0 });
socket.connect(url);
await socket.send(pack({ slots }));
process.send('ready');
const out = [];
let isSending = false;

/** A socket sends one message at a time. */
async function answer(done) {
  out.push(pack({ done }));
  if (isSending) return;
  isSending = true;
  while (out.length > 0) await socket.send(out.shift());
  isSending = false;
}

for await (const [frame] of socket) {
  const { run, work } = unpack(frame);
  const performed = perform(work);
  if (performed === undefined) void answer(run);
  else void performed.then(() => answer(run));
}
