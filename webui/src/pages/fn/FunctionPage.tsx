/** One function: its cost, callers and callees, over time, by label, by line, and its users. */
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { FUNCTION, linkTo } from '../../app/pages.ts';
import { usePrice } from '../../app/usePrice.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { STACK_FORMATS } from '../../app/ShareMenu.tsx';
import { useParts } from '../../app/useParts.ts';
import { usePlace } from '../../app/usePlace.ts';
import { amountOf, groundOf, measured, write } from '../../estimates/measure.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { Failure } from '../../ui/states/Failure.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { butterflyOf } from '../../views/butterfly/butterfly.ts';
import { ButterflyView } from '../../views/butterfly/ButterflyView.tsx';
import { containing, exactly } from './address.ts';
import { ByLabel } from './ByLabel.tsx';
import { Elsewhen } from './Elsewhen.tsx';
import { Heading } from './Heading.tsx';
import { HotLines } from './HotLines.tsx';
import { OverTime } from './OverTime.tsx';
import { Users } from './Users.tsx';
import './fn.css';

/** Callers and callees at most. */
const MANY = 200;

export function FunctionPage() {
  const [place, go] = usePlace(FUNCTION);
  const [written] = useParts(FUNCTION);
  const { asOf } = useAsOf();
  const id = Number(written);
  const valid = Number.isSafeInteger(id);
  const known = useAnswer(
    '/api/v1/functions/{function_id}',
    {},
    { path: { function_id: id }, enabled: valid },
  );
  const query = selectionOf(place, asOf);
  // A tree of one node: the page shows the rows only.
  const question = { ...query, function_id: id, limit: place.calls, nodes: 1 };
  const calls = useAnswer('/api/v1/callers', question, { enabled: valid });
  const shown = { place, go };
  const fn = known.data;
  const price = usePrice(place);
  const isNever = calls.data !== undefined && calls.data.itself.total === 0 && !calls.isPlaceholderData;
  const settled = calls.data !== undefined && !isNever;
  const through = fn && containing(query, fn, fn.others_total === 0);
  return (
    <SelectionPage
      title={fn?.name ?? 'Function'}
      className="cards fn"
      place={place}
      go={go}
      share={{ route: '/api/v1/callers', query: { ...question, nodes: 500 }, formats: STACK_FORMATS }}
      busy={calls.isFetching}
    >
      {!valid && <p className="state">{`${written} is not the number of a function.`}</p>}
      {known.error && <Failure error={known.error} retry={() => void known.refetch()} />}
      {fn && !known.error && (
        <>
          <Heading fn={fn} place={place} calls={settled ? calls.data : undefined} price={price} />
          {isNever ? (
            <Elsewhen fn={fn} through={through!} asOf={asOf} totals={calls.data!.totals} {...shown} />
          ) : (
            <div className="card-grid">
              <section className="panel wide" aria-label="callers and callees">
                <Answered query={calls} what="callers and callees" skeleton={<TableSkeleton />} shown={shown}>
                  {(answer) => {
                    const ground = groundOf(answer.totals, answer.selection.select, price);
                    const self = measured(amountOf(answer.itself, 'self'), place.measure, ground);
                    const part = answer.itself.total > 0 ? answer.itself.self / answer.itself.total : 0;
                    return (
                      <ButterflyView
                        butterfly={butterflyOf(answer, place.measure, ground)}
                        measure={place.measure}
                        middle={
                          <>
                            <b>this function</b>
                            <p className="note">
                              self {self === null ? '–' : write(place.measure, self.value)}
                              <br />
                              {(100 * part).toFixed(1)} % of its total
                            </p>
                          </>
                        }
                        linkOf={(to) => linkTo(FUNCTION, place, {}, to)}
                        onKeep={({ name }) => go({ focus: exactly(name) })}
                        onMore={place.calls < MANY ? () => go({ calls: MANY }) : null}
                      />
                    );
                  }}
                </Answered>
              </section>
              <OverTime fn={fn} through={through!} enabled={settled} price={price} {...shown} />
              <ByLabel id={id} query={query} enabled={settled} price={price} {...shown} />
              <HotLines fn={fn} query={query} enabled={settled} {...shown} />
              <Users id={id} query={query} enabled={settled} price={price} {...shown} />
            </div>
          )}
        </>
      )}
    </SelectionPage>
  );
}
