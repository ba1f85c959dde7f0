import type { ClusterEvents } from './shapes.js';
import { useStore } from './store.js';
import { moved, windowOf } from './stream.js';
import { Card, Problem, Waiting } from './ui.js';
import { useAnswer } from './use-answer.js';
import { clock } from './words.js';

const REFRESH_MS = 10_000;
/** The resolution of the record is lower for earlier events, so that they need a longer window. */
const FINE_MS = 3_600_000;
const COARSE_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const SHOWN_MAX = 15;

/** What happened to the cluster within a day. A click on a time shows it in the task stream and in all charts. */
export function EventStrip() {
  const { data, error } = useAnswer<ClusterEvents>(`/v1/events/past?seconds=${DAY_SECONDS}`, 0, REFRESH_MS);
  return (
    <Card title="Events" class="events">
      <Problem error={error} />
      {data !== undefined ? <EventList all={data} /> : error === undefined ? <Waiting /> : null}
    </Card>
  );
}

export function EventList({ all: { events, since } }: { readonly all: ClusterEvents }) {
  const store = useStore();
  const { seconds } = windowOf(store.address.value.query);
  const now = store.now.value;
  const newest = events.slice(-SHOWN_MAX).reverse();
  const left = events.length - newest.length;
  const show = (at: number): void => {
    const length = now - at < FINE_MS ? Math.min(seconds, COARSE_SECONDS) : COARSE_SECONDS;
    store.setQuery(moved(length, at + 500 * length, now));
  };
  if (newest.length === 0) return <p class="hint">No events since {clock(Date.parse(since), now)}.</p>;
  return (
    <>
      <ol class="event-list">
        {newest.map(({ number, at, text }) => {
          const time = Date.parse(at);
          const words = clock(time, now);
          return (
            <li key={number}>
              <button type="button" onClick={() => show(time)} title="Show this time in all charts">
                <time dateTime={at}>{words}</time>
              </button>{' '}
              {text}
            </li>
          );
        })}
      </ol>
      {left > 0 ? (
        <p class="hint">
          And {left} earlier ones: <code>goshawk events</code> lists them.
        </p>
      ) : null}
    </>
  );
}
