export { type Body, Codec } from './codec.js';
export { DecodeError, EncodeError } from './errors.js';
export type { AddressNames } from './fields.js';
export { OPEN_DEPTH_MAX, OPEN_NODES_MAX, openProblem } from './open.js';
export { wireFormat } from './wire-format.js';
