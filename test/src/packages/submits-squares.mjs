// A program that depends only on the client.
import { connect } from '@goshawk/client';

const cluster = await connect(process.argv[2]);
const job = await cluster.submit({
  tasks: [1, 2, 3].map((input) => ({ module: './squares.mjs', export: 'square', input })),
});
console.log(JSON.stringify(await job.result()));
await cluster.close();
