import { type Logger, ThrottledLog } from '@goshawk/transport';

const LOG_INTERVAL_MS = 60_000;

/** Says now and then that another party has the name. */
export function nameTaken(name: string, logger: Logger): (holder: string) => void {
  const complaints = new ThrottledLog(logger, LOG_INTERVAL_MS);
  return (holder) =>
    complaints.warn(
      '',
      'nameTaken',
      'another one has this name and was heard a moment ago: this one asks again; unless that one is just ending, give this one a name of its own',
      {
        wanted: name,
        holder,
      },
    );
}
