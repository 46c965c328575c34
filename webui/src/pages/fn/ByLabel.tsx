/** The function's total by the values of a label, with its share of what runs there. */
import { useAnswer } from '../../api/useAnswer.ts';
import { FUNCTION, linkTo } from '../../app/pages.ts';
import { platformPrices, useCost } from '../../app/usePrice.ts';
import { amountOf, groundOf, measured } from '../../estimates/measure.ts';
import { withLabels } from '../../selection/base.ts';
import { percent } from '../../selection/numbers.ts';
import type { SelectionQuery } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { AmountBars } from '../../views/bars/AmountBars.tsx';
import type { PanelProps } from './types.ts';

const LABELS = ['version', 'application', 'platform', 'kernel', 'datacenter', 'machine'];

interface Props extends PanelProps {
  id: number;
  query: SelectionQuery;
  price: number | null;
}

export function ByLabel({ id, query, price, enabled, place, go }: Props) {
  const platforms = platformPrices(useCost(place));
  const { by, measure } = place;
  const answer = useAnswer(
    '/api/v1/shared-code/users',
    { ...query, function_id: id, by, limit: 50 },
    { enabled },
  );
  const labels = LABELS.includes(by) ? LABELS : [...LABELS, by];
  return (
    <section className="panel" aria-label={`by ${by}`}>
      <h2>
        By
        <select aria-label="label" value={by} onChange={(e) => go({ by: e.target.value })}>
          {labels.map((label) => (
            <option key={label}>{label}</option>
          ))}
        </select>
      </h2>
      <Answered
        query={answer}
        what={`the function by ${by}`}
        skeleton={<TableSkeleton />}
        shown={{ place, go }}
      >
        {(data) => {
          const ground = groundOf(data.totals, data.selection.select, price, platforms);
          return (
            <AmountBars
              label={`the function by ${by}`}
              heading={by}
              asideHeading="share of what runs there"
              measure={measure}
              bars={data.rows.map((row) => ({
                id: JSON.stringify(row.key),
                name: row.key[by] || 'none',
                title: `${by} ${row.key[by] || 'none'}`,
                href: linkTo(
                  FUNCTION,
                  { ...place, select: withLabels(place.select, [by], row.key) },
                  { by },
                  id,
                ),
                estimate: measured(amountOf(row, 'total'), measure, ground),
                low_confidence: row.low_confidence,
                aside: percent(row.within),
              }))}
            />
          );
        }}
      </Answered>
    </section>
  );
}
