// A gang whose ranks add up numbers over a connection: `goshawk submit --gang --tasks 4 --logs -- node examples/gang.js`.
// Rank 0 listens at GOSHAWK_MASTER, as the first process of torchrun or mpirun does; the others connect to it.
import { connect, createServer } from 'node:net';

const { GOSHAWK_RANK, GOSHAWK_RANKS, GOSHAWK_MASTER = '' } = process.env;
const [rank, ranks] = [Number(GOSHAWK_RANK), Number(GOSHAWK_RANKS)];
const colon = GOSHAWK_MASTER.lastIndexOf(':');
const host = GOSHAWK_MASTER.slice(0, colon);
const port = Number(GOSHAWK_MASTER.slice(colon + 1));
const mine = (rank + 1) ** 2;

if (rank === 0) {
  let [sum, heard] = [mine, 1];
  const finish = () => {
    if (heard < ranks) return;
    console.log(`the sum of ${ranks} ranks is ${sum}`);
    server.close();
  };
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      sum += Number(data);
      heard++;
      finish();
    });
  });
  server.listen(port, finish);
} else send();

/** Rank 0 may not listen yet: all ranks start at the same time. */
function send() {
  const socket = connect(port, host, () => socket.end(String(mine)));
  socket.on('error', () => setTimeout(send, 50));
}
