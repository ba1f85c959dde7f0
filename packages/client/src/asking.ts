import type { Alarms } from './alarms.js';
import type { Connection } from './connection.js';
import type { ClientTimings } from './options.js';
import type { Turns } from './turns.js';

/** What a question needs to be asked, and to be asked again in its turn. */
export interface Asking {
  readonly connection: Connection;
  readonly alarms: Alarms;
  readonly timings: ClientTimings;
  readonly turns: Turns;
}
