/** A question to the API as curl, as a Python program and as a fleetprof command. */
import type { Shared } from './ShareMenu.tsx';

export function curlOf(address: string): string {
  return `curl -H "Authorization: Bearer $FLEETPROF_TOKEN" ${quoted(location.origin + address)}`;
}

export function pythonOf(address: string): string {
  return [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(location.origin + address)},`,
    '    headers={"Authorization": f"Bearer {os.environ[\'FLEETPROF_TOKEN\']}"},',
    ')',
    'with urllib.request.urlopen(request) as answer:',
    '    print(json.dumps(json.load(answer), indent=2))',
  ].join('\n');
}

/** Options of `fleetprof query`, by the API's parameter names. */
const OPTIONS: Readonly<Record<string, string>> = {
  event: '--event',
  from: '--from',
  to: '--to',
  campaign: '--campaign',
  focus: '--focus',
  ignore: '--ignore',
  hide: '--hide',
  show: '--show',
  show_from: '--show-from',
  by: '--by',
  base_select: '--diff',
  base_from: '--diff-from',
  base_to: '--diff-to',
};
const COMMANDS: Readonly<Record<string, string>> = {
  '/api/v1/table': 'fleetprof query',
  '/api/v1/diff': 'fleetprof query',
  '/api/v1/movers': 'fleetprof report movers',
  '/api/v1/shared-code': 'fleetprof shared-code',
  '/api/v1/reliability': 'fleetprof query --reliability',
};

/** null if no command asks this question. */
export function commandOf({ route, query, command: own }: Shared): string | null {
  if (own !== undefined) return own;
  const command = COMMANDS[route];
  if (command === undefined) return null;
  const given = query as Record<string, unknown>;
  const options = Object.entries(OPTIONS).flatMap(([name, option]) =>
    given[name] === undefined || given[name] === '' ? [] : [`${option} ${quoted(String(given[name]))}`],
  );
  const select = given['select'];
  return [command, ...(typeof select === 'string' && select !== '' ? [quoted(select)] : []), ...options].join(
    ' ',
  );
}

/** A command: its first words as they are, each further one as one word of a shell. */
export function words([command, ...rest]: readonly string[]): string {
  return [command, ...rest.map(quoted)].join(' ');
}

/** As one word of a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}
