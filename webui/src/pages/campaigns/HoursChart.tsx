/** The profiles of the last 24 hours as bars, with the same numbers as a table. */
import type { CampaignHour } from '../../api/types.ts';
import { CHART_FORMS, useChartForm } from '../../app/useChartForm.ts';
import { count, plural } from '../../selection/numbers.ts';
import { localMinute } from '../../selection/time.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { Segments } from '../../ui/Segments.tsx';
import './campaigns.css';

interface Props {
  name: string;
  hours: readonly CampaignHour[];
}

const WIDTH = 480;
const HEIGHT = 72;
const GAP = 2;

const COLUMNS: readonly Column<CampaignHour>[] = [
  { name: 'Hour', cell: ({ start }) => localMinute(start), sortBy: ({ start }) => start },
  column('Planned', 'planned'),
  column('Received', 'answered'),
  column('Processed', 'ingested'),
  column('Failed', 'failed'),
  column('Lost', 'lost'),
  column('Not finished', 'open'),
];

type Part = Exclude<keyof CampaignHour, 'start'>;

function column(name: string, part: Part): Column<CampaignHour> {
  return { name, number: true, cell: (hour) => count(hour[part]), sortBy: (hour) => hour[part] };
}

export function HoursChart({ name, hours }: Props) {
  const [as, setAs] = useChartForm();
  const label = `profiles of ${name} in the last 24 hours`;
  return (
    <figure className="hours" aria-label={label}>
      <figcaption>
        <span className="hours-legend note">
          <span className="received">received</span>
          <span className="failed">failed</span>
          <span className="planned">lost or not finished</span>
        </span>
        <Segments label={`${label}: chart or table`} value={as} options={CHART_FORMS} onChange={setAs} />
      </figcaption>
      {as === 'chart' ? (
        <Bars label={label} hours={hours} />
      ) : (
        <DataTable label={label} columns={COLUMNS} rows={hours} keyOf={({ start }) => start} />
      )}
    </figure>
  );
}

function Bars({ label, hours }: { label: string; hours: readonly CampaignHour[] }) {
  const most = Math.max(1, ...hours.map(({ planned }) => planned));
  const width = WIDTH / Math.max(1, hours.length);
  const high = (n: number): number => (HEIGHT * n) / most;
  const sum = (part: Part): number => hours.reduce((total, hour) => total + hour[part], 0);
  const summary = `${label}: ${count(sum('planned'))} planned, ${count(sum('answered'))} received, ${count(sum('failed'))} failed; at most ${plural(most, 'profile')} in an hour`;
  return (
    <>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary}>
        {hours.map((hour, k) => (
          <g key={hour.start}>
            <title>
              {`${localMinute(hour.start)}: ${count(hour.planned)} planned, ${count(hour.answered)} received, ${count(hour.failed)} failed, ${count(hour.lost)} lost`}
            </title>
            <rect className="hit" x={k * width} y={0} width={width} height={HEIGHT} />
            {stacked(hour).map(({ part, from, n }) => (
              <rect
                key={part}
                className={part}
                x={k * width + GAP / 2}
                width={width - GAP}
                y={HEIGHT - high(from + n)}
                height={high(n)}
              />
            ))}
          </g>
        ))}
      </svg>
      <p className="hours-axis note">
        <span>{hours.length > 0 && localMinute(hours[0].start).slice(11)}</span>
        <span>at most {plural(most, 'profile')} an hour</span>
        <span>now</span>
      </p>
    </>
  );
}

/** The parts of an hour's bar from below, which add up to what was planned. */
function stacked({ answered, failed, lost, open }: CampaignHour) {
  return [
    { part: 'received', from: 0, n: answered },
    { part: 'failed', from: answered, n: failed },
    { part: 'planned', from: answered + failed, n: lost + open },
  ];
}
