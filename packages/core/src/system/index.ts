/** The parts that the spawner imports. All of the package includes zod, whose memory would make its forks slower. */

export { DenseIds } from '../structures/dense-ids.js';
export * from './proc.js';
export { nameOfRealTimeSignal } from './signals.js';
