/** Callers and callees in the function's panel. */
import type { AnswerOf } from '../../api/client.ts';
import type { ExplorePlace } from '../../app/pages.ts';
import type { ExploreGo } from '../../app/usePlace.ts';
import { groundOf, offered } from '../../estimates/measure.ts';
import { percent } from '../../selection/numbers.ts';
import { FittedName } from '../../ui/FittedName.tsx';
import { DrawerSection } from './DrawerSection.tsx';
import { RowAmount } from './RowAmount.tsx';

type Callers = AnswerOf<'/api/v1/callers'>;

interface Props {
  answer: Callers;
  place: ExplorePlace;
  go: ExploreGo;
  price: number | null;
}

export function DrawerCalls({ answer, place, go, price }: Props) {
  const ground = groundOf(answer.totals, answer.selection.select, price);
  const measure = offered(ground).includes(place.measure) ? place.measure : 'share';
  if (answer.functions.length === 0)
    return <p className="note">No stack of this selection has the function.</p>;
  const callers = answer.rows.filter(({ side }) => side === 'caller');
  const callees = answer.rows.filter(({ side }) => side === 'callee');
  return (
    <>
      <dl className="amounts">
        <dt>total</dt>
        <dd>
          <RowAmount row={answer.itself} column="total" measure={measure} ground={ground} />
        </dd>
        <dt>self</dt>
        <dd>
          <RowAmount row={answer.itself} column="self" measure={measure} ground={ground} />
        </dd>
      </dl>
      <Neighbours title="Callers" rows={callers} total={answer.callers_total} go={go} />
      <Neighbours title="Callees" rows={callees} total={answer.callees_total} go={go} />
    </>
  );
}

interface NeighboursProps {
  title: string;
  rows: Callers['rows'];
  total: number;
  go: ExploreGo;
}

function Neighbours({ title, rows, total, go }: NeighboursProps) {
  return (
    <DrawerSection title={`${title} (${total})`}>
      {rows.length === 0 && <p className="note">none</p>}
      <ul className="neighbours">
        {rows.map((row) => (
          <li key={row.function_id ?? ''}>
            <i className="bar" style={{ width: `${100 * Math.min(1, row.of_function)}%` }} />
            {row.function_id === null ? (
              <span className="who">stacks begin here</span>
            ) : (
              <button type="button" className="who code" onClick={() => go({ fn: row.function_id! })}>
                <FittedName name={row.key['function'] ?? ''} />
              </button>
            )}
            <span className="share">{percent(row.of_function, 1)}</span>
          </li>
        ))}
      </ul>
    </DrawerSection>
  );
}
