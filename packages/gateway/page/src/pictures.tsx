import { AreaCard } from './area.js';
import { CHARTS, ChartCard } from './charts.js';
import { EventStrip } from './event-strip.js';
import { useChartTime } from './plot.js';
import { StreamCard } from './stream.js';

/** The pictures of the overview, loaded after its numbers. */
export function Pictures() {
  const time = useChartTime();
  return (
    <>
      <div class="pictures">
        <AreaCard time={time} />
        <StreamCard />
        <EventStrip />
      </div>
      <div class="charts">
        {CHARTS.map((spec) => (
          <ChartCard key={spec.title} spec={spec} time={time} />
        ))}
      </div>
    </>
  );
}
