/** The function's whole name, where its code is, what it costs, and the other views of it. */
import { Link } from 'wouter';
import { ASM, COMPARE, EXPLORE, FUNCTION, GRAPH, linkTo, SOURCE, SYMBOLS } from '../../app/pages.ts';
import { amountOf, groundOf, measured, type Measure } from '../../estimates/measure.ts';
import { plural } from '../../selection/numbers.ts';
import { EstimateText } from '../../ui/EstimateText.tsx';
import type { CallersAnswer } from '../../views/butterfly/butterfly.ts';
import { exactly } from './address.ts';
import type { FunctionAnswer, FunctionPlace } from './types.ts';

interface Props {
  fn: FunctionAnswer;
  place: FunctionPlace;
  /** undefined: not answered yet. */
  calls: CallersAnswer | undefined;
  price: number | null;
}

export function Heading({ fn, place, calls, price }: Props) {
  return (
    <header className="fn-heading">
      <h1 className="code">{fn.name}</h1>
      <p className="note">
        <Link href={linkTo(SOURCE, place, {}, fn.binary)}>{fn.binary}</Link>
        {fn.file !== '' && fn.file !== fn.binary && (
          <>
            {' · '}
            <Link href={sourceOf(fn, place)}>
              {fn.file}
              {fn.line !== null && `:${fn.line}`}
            </Link>
          </>
        )}
        {fn.kind === 'kernel' && ' · kernel'}
        {(fn.status === 'binary_only' || fn.status === 'unknown') && (
          <>
            {' · '}
            <Link href={linkTo(SYMBOLS, {}, { show: 'all', find: fn.binary.slice(0, 200) })}>no symbols</Link>
          </>
        )}
        {fn.raw_name !== '' && fn.raw_name !== fn.name && <> · symbol {fn.raw_name}</>}
      </p>
      {calls !== undefined && <Cost calls={calls} measure={place.measure} price={price} />}
      <Links fn={fn} place={place} />
      {fn.others_total > 0 && (
        <details className="note">
          <summary>{plural(fn.others_total, 'other function')} of this name</summary>
          <ul>
            {fn.others.map((other) => (
              <li key={other.id}>
                <Link href={linkTo(FUNCTION, place, {}, other.id)}>{other.binary}</Link> {other.file}
              </li>
            ))}
          </ul>
        </details>
      )}
    </header>
  );
}

function Cost({ calls, measure, price }: { calls: CallersAnswer; measure: Measure; price: number | null }) {
  const ground = groundOf(calls.totals, calls.selection.select, price);
  const { itself } = calls;
  return (
    <p className="fn-cost">
      total <EstimateText estimate={measured(amountOf(itself, 'total'), measure, ground)} measure={measure} />
      {' · '}
      self <EstimateText estimate={measured(amountOf(itself, 'self'), measure, ground)} measure={measure} />
      {itself.visits !== null && <span className="note"> · in {plural(itself.visits, 'profile')}</span>}
      {itself.low_confidence && <span className="badge low_confidence">few profiles decide</span>}
    </p>
  );
}

function Links({ fn, place }: Pick<Props, 'fn' | 'place'>) {
  const mark = `function:${fn.id}`;
  const focus = exactly(fn.name);
  const links: [text: string, href: string][] = [
    ['Flame graph', linkTo(EXPLORE, place, { view: 'flame', focus, mark })],
    ['Sandwich', linkTo(EXPLORE, place, { view: 'sandwich', mark })],
    ['Call graph', linkTo(GRAPH, place, { focus, focus_on: fn.id })],
    ...(fn.file === '' ? [] : [['Source', sourceOf(fn, place)] as [string, string]]),
    ['Assembly', linkTo(ASM, place, {}, fn.binary, fn.id)],
    ['Compare with the previous period', linkTo(COMPARE, place, { find: fn.name })],
  ];
  return (
    <nav className="fn-links" aria-label="other views of the function">
      {links.map(([text, href]) => (
        <Link key={text} href={href} className="button">
          {text}
        </Link>
      ))}
    </nav>
  );
}

export function sourceOf(fn: FunctionAnswer, place: FunctionPlace, line = fn.line ?? 0): string {
  return linkTo(SOURCE, place, { path: fn.file, line, fn: fn.id }, fn.binary);
}
