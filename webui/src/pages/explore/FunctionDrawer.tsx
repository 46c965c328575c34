/** The panel of one function beside table and flame graph: callers, callees, over time, by version, actions. */
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { COMPARE, FUNCTION, linkTo, SOURCE, type ExplorePlace } from '../../app/pages.ts';
import type { ExploreGo } from '../../app/usePlace.ts';
import { either, literal } from '../../selection/matchers.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { DrawerCalls } from './DrawerCalls.tsx';
import { DrawerOverTime } from './DrawerOverTime.tsx';
import { callersOf, seriesOf, versionsOf } from './drawerQueries.ts';
import { DrawerSection } from './DrawerSection.tsx';
import { DrawerVersions } from './DrawerVersions.tsx';
import './drawer.css';

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
        {(answer) => <DrawerCalls answer={answer} place={place} go={go} price={price} />}
      </Answered>
      <DrawerSection title="Over time">
        <Answered query={fresh(series)} skeleton={<Bones />} what="the line over time" shown={shown}>
          {(answer) => <DrawerOverTime answer={answer} name={name} place={place} go={go} price={price} />}
        </Answered>
      </DrawerSection>
      <DrawerSection title="By version">
        <Answered query={fresh(versions)} skeleton={<Bones />} what="the versions" shown={shown}>
          {(answer) => <DrawerVersions answer={answer} place={place} price={price} />}
        </Answered>
      </DrawerSection>
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
