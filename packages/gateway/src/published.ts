import { type OutputsOf, type PublishedSchemas, publish } from '@goshawk/core';
import * as shapes from './schemas.js';

declare module '@goshawk/core' {
  interface Outputs extends OutputsOf<(typeof shapes)[keyof typeof shapes]> {}
}

/** Returns the JSON Schema of each output of the HTTP API, including those that the command shares. */
export function publishedSchemas(): PublishedSchemas {
  return publish(Object.values(shapes));
}
