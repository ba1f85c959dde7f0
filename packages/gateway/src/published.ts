import { type PublishedSchemas, publish } from '@goshawk/core';
import * as shapes from './schemas.js';

/** The JSON Schema of each output that the command and the HTTP API share, or that only the HTTP API has. */
export function publishedSchemas(): PublishedSchemas {
  return publish(Object.values(shapes));
}
