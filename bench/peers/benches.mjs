/** Measurements that `npm run bench -- NAME` runs. */
export const BENCHES = [
  'backlog',
  'duel',
  'durability',
  'ends',
  'fidelity',
  'hops',
  'incidents',
  'peers',
  'python',
  'scaling',
  'soak',
  'takeover',
  'worlds',
];
