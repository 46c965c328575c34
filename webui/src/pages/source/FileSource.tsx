/** One source file with the cost of its lines, in one of its versions. */
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { FUNCTION, linkTo, SOURCE } from '../../app/pages.ts';
import { usePrice } from '../../app/usePrice.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { useKeys, type Keys } from '../../app/useKeys.ts';
import { groundOf } from '../../estimates/measure.ts';
import { percent, plural } from '../../selection/numbers.ts';
import { withoutFrameFilters } from '../../selection/lines.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { annotate, nextHot } from '../../views/source/annotated.ts';
import { SourceView } from '../../views/source/SourceView.tsx';
import { HotLineTable } from './HotLineTable.tsx';
import { NoSource } from './NoSource.tsx';
import type { SourceProps } from './types.ts';
import { chosenVersion, inBinary, versionName } from './versions.ts';

/** The API's most. */
const LINES = 5000;

export function FileSource({ binary, place, go }: SourceProps) {
  const { asOf } = useAsOf();
  const price = usePrice(place);
  const [as, setAs] = useState<'text' | 'lines'>('text');
  const narrowed = withoutFrameFilters(selectionOf(place, asOf));
  const query = { ...narrowed.query, file: place.path, binary, limit: LINES };
  const lines = useAnswer('/api/v1/lines', query);
  const versions = lines.data?.versions ?? [];
  const version = chosenVersion(versions, place.version);
  const fn = useAnswer(
    '/api/v1/functions/{function_id}',
    {},
    { path: { function_id: place.fn }, enabled: place.fn > 0 },
  );
  // Without samples of the file in the range, a function's builds are the only ones known.
  const builds = version === null ? fn.data?.builds : inBinary(version, binary);
  const key = lines.data && builds?.[0]?.key;
  const text = useAnswer(
    '/api/v1/source',
    { binary: key ?? '', path: place.path },
    { enabled: key !== undefined },
  );
  const colours = useAnswer(
    '/api/v1/source/highlighting',
    { binary: key ?? '', path: place.path },
    { enabled: text.data !== undefined },
  );
  // Colours of another version would be on the wrong words.
  const highlighting = colours.data?.sha256 === text.data?.sha256 ? colours.data : undefined;
  const rows = useMemo(
    () => lines.data?.rows.filter((row) => lines.data.versions[row.version] === version) ?? [],
    [lines.data, version],
  );
  const source = useMemo(() => (text.data ? annotate(text.data.text, rows) : null), [text.data, rows]);
  const onLine = (line: number): void => go({ line });

  useKeys(
    'This page',
    useMemo<Keys>(() => {
      const step = (by: 1 | -1) => (): void => {
        const line = source === null ? 0 : nextHot(source, place.line, by);
        if (line > 0) go({ line }, 'replace');
      };
      return { n: ['next hot line', step(1)], p: ['previous hot line', step(-1)] };
    }, [source, place.line, go]),
  );

  const lost = lines.data !== undefined && key === undefined && !(version === null && fn.isLoading);
  return (
    <SelectionPage
      title={place.path.split('/').at(-1) ?? place.path}
      className="source file"
      place={place}
      go={go}
      share={{ route: '/api/v1/lines', query, formats: ROW_FORMATS }}
      busy={lines.isFetching || text.isFetching}
    >
      <header className="source-heading">
        <h1 className="code">{place.path}</h1>
        <p className="note">
          <Link href={linkTo(SOURCE, place, {}, binary)}>{binary}</Link>
          {fn.data && place.fn > 0 && (
            <>
              {' · '}
              <Link className="code" href={linkTo(FUNCTION, place, {}, place.fn)}>
                {fn.data.name}
              </Link>
            </>
          )}
          {lines.data &&
            ` · total ${percent(lines.data.itself.total_share)}, self ${percent(lines.data.itself.self_share)} of the selection`}
          {source !== null && ` · ${plural(source.hot.length, 'hot line')} ( n, p )`}
        </p>
      </header>
      <section className="panel" aria-label="source">
        <div className="bar-top">
          <Segments
            label="show"
            value={as}
            options={[
              { value: 'text', text: 'Text' },
              { value: 'lines', text: 'Hot lines' },
            ]}
            onChange={setAs}
          />
          {versions.length > 1 && (
            <label className="field inline">
              version
              <select
                value={version === null ? '' : versionName(version)}
                onChange={(e) => go({ version: e.target.value })}
              >
                {versions.map((other) => (
                  <option key={versionName(other)} value={versionName(other)}>
                    {versionName(other)}: self {percent(other.self_share)},{' '}
                    {plural(other.builds.length, 'build')}
                  </option>
                ))}
              </select>
            </label>
          )}
          {narrowed.had && (
            <span className="note">in all stacks: filters on functions cannot narrow lines</span>
          )}
          {text.data && (
            <span className="note">
              text from {text.data.origin}
              {!text.data.certain && ' (a checkout, which may have changed since the build)'}
              {highlighting?.missing && `; no colours: ${highlighting.missing}`}
            </span>
          )}
        </div>
        <Answered query={lines} what="the lines" skeleton={<TableSkeleton />} shown={{ place, go }}>
          {(data) => {
            const ground = groundOf(data.totals, data.selection.select, price);
            if (as === 'lines')
              return (
                <HotLineTable rows={rows} source={source} ground={ground} place={place} onLine={onLine} />
              );
            if (source !== null && !text.isPlaceholderData)
              return (
                <SourceView
                  label={`source of ${place.path}`}
                  source={source}
                  highlighting={highlighting}
                  measure={place.measure}
                  ground={ground}
                  line={place.line}
                  onLine={onLine}
                />
              );
            if (lost || text.error)
              return (
                <NoSource
                  binaryKey={key}
                  path={place.path}
                  error={text.error}
                  retry={() => void text.refetch()}
                />
              );
            return <TableSkeleton />;
          }}
        </Answered>
      </section>
    </SelectionPage>
  );
}
