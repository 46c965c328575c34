/** The command that asks a report's question. */
import { words } from '../../app/copyAs.ts';
import { argument, type AnyReport, type Used } from './report.ts';

/** null if the command cannot ask it. `query`: as sent to the API. */
export function commandOf(report: AnyReport, query: Used): string | null {
  const { command = `fleetprof report ${report.kind}` } = report;
  const base = typeof command === 'string' ? command : command(query);
  if (base === null) return null;
  const given = report.fields.filter(({ name }) => (query[name] ?? '') !== '');
  if (given.some((field) => field.words === null)) return null;
  const wordsOf = (of: typeof given): string[] =>
    of.flatMap(({ name, words: own }) => {
      const value = query[name];
      return own ? own(value) : [`--${name.replaceAll('_', '-')}`, value];
    });
  const isArgument = ({ words: own }: (typeof given)[number]): boolean => own === argument;
  const range =
    report.readsFleet === false
      ? []
      : ['from', 'to', 'campaign', ...(report.readsEvent ? ['event'] : [])].flatMap((name) =>
          query[name] ? [`--${name}`, query[name]] : [],
        );
  const select =
    report.readsFleet === false || typeof command !== 'string' || !query['select'] ? [] : [query['select']];
  return words([
    base,
    ...wordsOf(given.filter(isArgument)),
    ...select,
    ...range,
    ...wordsOf(given.filter((field) => !isArgument(field))),
  ]);
}
