import { pack, unpack } from 'msgpackr';
import { Dealer } from 'zeromq';

const { url, slots } = JSON.parse(process.argv[2]);
const socket = new Dealer({ linger: 0 });
socket.connect(url);
await socket.send(pack({ slots }));
process.send('ready');
for await (const [frame] of socket) await socket.send(pack({ done: unpack(frame).run }));
