/** The panel of one function beside table and flame graph: callers, callees, over time, by version, actions. */
import { useEffect, useMemo, useRef, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { AnswerOf } from '../../api/client.ts';
import type { TableAnswer, TableRow } from '../../api/types.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { COMPARE, FUNCTION, linkTo, SOURCE, type ExplorePlace } from '../../app/pages.ts';
import type { ExploreGo } from '../../app/usePlace.ts';
import { amountOf, groundOf, measured, offered, type Ground, type Measure } from '../../estimates/measure.ts';
import { either, literal } from '../../selection/matchers.ts';
import { percent } from '../../selection/numbers.ts';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { FittedName } from '../../ui/FittedName.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { Sparkline } from '../../views/sparkline/Sparkline.tsx';
import { callersOf, seriesOf, versionsOf } from './drawerQueries.ts';

type Callers = AnswerOf<'/api/v1/callers'>;
type Series = AnswerOf<'/api/v1/series'>;

interface Props {
  id: number;
  place: ExplorePlace;
  go: ExploreGo;
  /** Price of one core-hour. */
  price: number | null;
}

export function FunctionDrawer({ id, place, go, price }: Props) {
  const { asOf } = useAsOf();
  const panel = useRef<HTMLElement>(null);
  const shown = { place, go };
  const about = useAnswer('/api/v1/functions/{function_id}', {}, { path: { function_id: id } });
  const callers = useAnswer('/api/v1/callers', callersOf(place, asOf, id));
  // While another function's answers are under way, theirs must not show as this one's.
  const named = about.data !== undefined && !about.isPlaceholderData ? about.data : undefined;
  const name = named?.name ?? '';
  const ready = named !== undefined;
  const series = useAnswer('/api/v1/series', seriesOf(place, asOf, name), { enabled: ready });
  const versions = useAnswer('/api/v1/table', versionsOf(place, asOf, name), { enabled: ready });
  const close = (): void => {
    go({ fn: 0 });
    document.querySelector<HTMLElement>('.rows')?.focus();
  };
  useEffect(() => {
    panel.current!.scrollTop = 0;
  }, [id]);

  return (
    <aside ref={panel} className="drawer" aria-label="function">
      <header>
        <h2 className="code">{name || '…'}</h2>
        <button
          type="button"
          className="icon"
          onClick={close}
          aria-label="close the function panel"
          title="( Esc )"
        >
          ×
        </button>
      </header>
      {named && (
        <p className="note where">
          <Link href={linkTo(SOURCE, place, { fn: id }, named.binary)} className="code">
            {named.binary}
          </Link>
          {named.file !== '' && (
            <span className="code">
              {named.file}
              {named.line === null ? '' : `:${named.line}`}
            </span>
          )}
          {named.kind === 'kernel' && <span>kernel</span>}
          {named.others_total > 0 && <span>{named.others_total} more of this name</span>}
        </p>
      )}
      {about.error && <p role="alert">{about.error.message}</p>}
      {named && <Actions id={id} name={name} place={place} go={go} />}
      <Answered query={fresh(callers)} skeleton={<Bones />} what="callers and callees" shown={shown}>
        {(answer) => <Calls answer={answer} place={place} go={go} price={price} />}
      </Answered>
      <Section title="Over time">
        <Answered query={fresh(series)} skeleton={<Bones />} what="the line over time" shown={shown}>
          {(answer) => <OverTime answer={answer} name={name} />}
        </Answered>
      </Section>
      <Section title="By version">
        <Answered query={fresh(versions)} skeleton={<Bones />} what="the versions" shown={shown}>
          {(answer) => <Versions answer={answer} place={place} price={price} />}
        </Answered>
      </Section>
    </aside>
  );
}

/** Without data of the previous function. */
function fresh<T>(query: {
  data: T | undefined;
  error: Error | null;
  isFetching: boolean;
  isPlaceholderData: boolean;
  refetch: () => unknown;
  fetchStatus?: string;
  isPending?: boolean;
}) {
  const { error, isFetching, isPlaceholderData, refetch } = query;
  const data = isPlaceholderData ? undefined : query.data;
  // A question that waits for the function's name is under way, too.
  return {
    data,
    error,
    isFetching: isFetching || (data === undefined && error === null),
    isPlaceholderData: false,
    refetch,
  };
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Bones() {
  return (
    <div className="bones">
      <span className="bone" />
      <span className="bone" />
    </div>
  );
}

function Actions({ id, name, place, go }: { id: number; name: string; place: ExplorePlace; go: ExploreGo }) {
  const exactly = `^${literal(name)}$`;
  const mark = `function:${id}`;
  return (
    <div className="drawer-actions">
      <Link className="button primary" href={linkTo(FUNCTION, place, {}, id)}>
        Open page
      </Link>
      {place.mark === mark ? (
        <button type="button" onClick={() => go({ mark: '' })}>
          Clear highlight
        </button>
      ) : (
        <button
          type="button"
          onClick={() => go({ mark, node: '', find: '', view: place.view === 'table' ? 'both' : place.view })}
        >
          Show in flame graph
        </button>
      )}
      <button type="button" onClick={() => go({ view: 'sandwich', node: '', find: '', mark: '' })}>
        Callers and callees
      </button>
      <button type="button" onClick={() => go({ focus: exactly, node: '' })}>
        Keep stacks containing it
      </button>
      <button type="button" onClick={() => go({ ignore: either(place.ignore, exactly), node: '', fn: 0 })}>
        Drop stacks containing it
      </button>
      <Link className="button" href={linkTo(COMPARE, place, { find: name })}>
        Compare
      </Link>
    </div>
  );
}

interface CallsProps {
  answer: Callers;
  place: ExplorePlace;
  go: ExploreGo;
  price: number | null;
}

function Calls({ answer, place, go, price }: CallsProps) {
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

interface AmountProps {
  row: TableRow;
  column: 'self' | 'total';
  measure: Measure;
  ground: Ground;
}

function RowAmount({ row, column, measure, ground }: AmountProps) {
  return <EstimateText estimate={measured(amountOf(row, column), measure, ground)} measure={measure} />;
}

interface NeighboursProps {
  title: string;
  rows: Callers['rows'];
  total: number;
  go: ExploreGo;
}

function Neighbours({ title, rows, total, go }: NeighboursProps) {
  return (
    <Section title={`${title} (${total})`}>
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
    </Section>
  );
}

function OverTime({ answer, name }: { answer: Series; name: string }) {
  const random = groundOf(answer.totals, answer.selection.select, null).random;
  const steps = useMemo(() => {
    const whole = answer.lines.find(({ role }) => role === 'whole');
    const share = whole?.points.share;
    return answer.steps.start.map((start, k) => {
      const value = share?.value[k] ?? null;
      const [lo, hi] = random ? [share?.lo[k] ?? null, share?.hi[k] ?? null] : [null, null];
      return { start, estimate: value === null ? null : { value, lo, hi } };
    });
  }, [answer, random]);
  if (steps.every(({ estimate }) => estimate === null)) return <p className="note">no data</p>;
  return <Sparkline label={`share of stacks with ${name}`} steps={steps} measure="share" />;
}

interface VersionsProps {
  answer: TableAnswer;
  place: ExplorePlace;
  price: number | null;
}

function Versions({ answer, place, price }: VersionsProps) {
  const ground = groundOf(answer.totals, answer.selection.select, price);
  const measure = offered(ground).includes(place.measure) ? place.measure : 'share';
  if (answer.rows.length === 0) return <p className="note">no data</p>;
  return (
    <table className="plain">
      <tbody>
        {answer.rows.map((row) => (
          <tr key={row.key['version']}>
            <th scope="row">{row.key['version'] || '(none)'}</th>
            <td className="number">
              <RowAmount row={row} column="total" measure={measure} ground={ground} />
            </td>
          </tr>
        ))}
      </tbody>
      {answer.rows_total > answer.rows.length && (
        <tfoot>
          <tr>
            <td colSpan={2} className="note">
              {answer.rows_total - answer.rows.length} more versions
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}
