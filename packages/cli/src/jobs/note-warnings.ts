import type { Cluster } from '@goshawk/client';
import { type Context, plain } from '@goshawk/command';

/** Prints problems of the whole cluster, such as a clock that differs. */
export function noteWarnings(context: Context, { warnings }: Pick<Cluster, 'warnings'>): void {
  for (const warning of warnings) context.note(plain(warning));
}
