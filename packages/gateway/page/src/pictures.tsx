import { AreaCard } from './area.js';
import { CHARTS, ChartCard } from './charts.js';
import { EventStrip } from './event-strip.js';
import { useStore } from './store.js';
import { StreamCard } from './stream.js';

/** The pictures of the overview, loaded after its numbers. */
export function Pictures() {
  const { points } = useStore();
  return (
    <>
      <div class="pictures">
        <AreaCard />
        <StreamCard />
        <EventStrip />
      </div>
      <div class="charts">
        {CHARTS.map((spec) => (
          <ChartCard key={spec.title} spec={spec} points={points.value} />
        ))}
      </div>
    </>
  );
}
