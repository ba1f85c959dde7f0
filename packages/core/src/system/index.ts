/** The parts that the spawner imports. All of the package includes zod, whose memory would make its forks slower. */
export { nameOfRealTimeSignal } from '../job/signals.js';
export { DenseIds } from '../structures/dense-ids.js';
export * from './proc.js';
