import { type PublishedSchemas, publish } from '@goshawk/core';
import * as shapes from './schemas.js';

/** Returns the JSON Schema of each output of the HTTP API, including those that the command shares. */
export function publishedSchemas(): PublishedSchemas {
  return publish(Object.values(shapes));
}
