export { bestConfiguration, type Configuration, kRed, weightOf } from './configurations.js';
export { CAPACITY, reservedSize, sizeOf, typeOf } from './partition.js';
