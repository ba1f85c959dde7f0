// Tasks call a function in parallel: `goshawk up` in one terminal, `node examples/primes.js` in another.
/** @import { TaskContext } from '@goshawk/client' */
import { connect } from '@goshawk/client';

const STEP = 20_000;

/**
 * Counts the primes in a range; runs in the cluster.
 *
 * @param {{ from: number, to: number }} range
 * @param {TaskContext} context
 */
export function count({ from, to }, { signal, log, index }) {
  let primes = 0;
  for (let n = from; n < to && !signal.aborted; n++) if (isPrime(n)) primes++;
  log(`task ${index} of its job: ${primes} primes from ${from} to ${to}`);
  return primes;
}

/** @param {number} n */
function isPrime(n) {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false;
  return n > 1;
}

function* ranges(below = 200_000) {
  for (let from = 0; from < below; from += STEP) yield { from, to: Math.min(below, from + STEP) };
}

if (process.argv[1] === import.meta.filename) {
  const cluster = await connect();
  const work = { module: import.meta.filename, export: 'count' };
  let sum = 0;
  // Ranges are consumed on demand, and counts arrive in their order.
  for await (const primes of cluster.map(work, ranges(), { name: 'primes', inFlight: 8 }))
    sum += Number(primes);
  console.log(`${sum} primes below 200,000`);
  await cluster.close();
}
