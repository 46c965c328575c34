import { describe, expect, it } from 'vitest';
import affinity from './answers/affinity.json';
import apu from './answers/apu.json';
import apuUnknown from './answers/apu-unknown.json';
import capacity from './answers/capacity-no-rates.json';
import crossCheck from './answers/cross-check.json';
import frequency from './answers/frequency-not-sampled.json';
import times from './answers/frequency-times.json';
import ratios from './answers/ratios.json';
import stability from './answers/stability.json';
import { linkTo } from '../../../src/app/pages.ts';
import { commandOf } from '../../../src/pages/reports/command.ts';
import { columnsOf, filled } from '../../../src/pages/reports/columns.tsx';
import { drawable } from '../../../src/pages/reports/Finding.tsx';
import commands from './commands.json';
import { basisOf, type Common } from '../../../src/pages/reports/basis.ts';
import { unknownRates } from '../../../src/pages/reports/kinds/capacity.ts';
import { REPORT_LIST, REPORT_OF } from '../../../src/pages/reports/registry.ts';
import { remediesOf } from '../../../src/pages/reports/remedies.ts';
import { pageOf, valuesOf, type Links, type Place } from '../../../src/pages/reports/report.ts';
import { defaultsOf, formatParams, parseParams } from '../../../src/selection/params.ts';

const LINKS: Links = {
  application: (name) => `/service/${name}`,
  value: (label, value) => `/explore?${label}=${value}`,
  fn: (id) => `/fn/${id}`,
  report: (kind) => `/reports/${kind}`,
};
const reportOf = (kind: string) => REPORT_OF.get(kind)!;
const common = (answer: unknown): Common => answer as Common;

describe('the sentence of a recorded answer', () => {
  it('has APU with its interval, the assumed coefficient, and utilisation beside it', () => {
    const report = reportOf('apu');
    const text = report.sentence(apu, { coefficient: '1.4' });
    const [first] = apu.rows;
    expect(text).toContain(`${(100 * first.apu.value).toFixed(1)} %`);
    expect(text).toContain(`(${(100 * first.apu.lo).toFixed(1)}–${(100 * first.apu.hi).toFixed(1)})`);
    expect(text).toContain('assumed to have 1.4');
    expect(report.naive!(apu)).toContain(
      `CPU utilisation says ${(100 * first.utilisation.value).toFixed(1)} %`,
    );
  });

  it('has CPI by application', () => {
    expect(reportOf('ratios').sentence(ratios, {})).toMatch(
      /^In cycles per instruction: search-ranker 0\.99 \(0\.92–1\.05\); .*; and 1 more in the table\.$/,
    );
  });

  it('says that a plan whose interval is below zero saves nothing', () => {
    expect(reportOf('affinity').sentence(affinity, {})).toContain(
      'saves nothing that the measurements confirm',
    );
    expect(reportOf('affinity').naive!(affinity)).toContain('Without the correction for optimism');
  });

  it('compares A/f + B with 1/f', () => {
    expect(reportOf('frequency-times').sentence(times, {})).toBe(
      'The run keeps 90.0 % of its performance at 2,400 MHz down to 2,111 MHz (2,063–2,150); 18.8 % (4.6–32.1) of its time does not scale with the clock.',
    );
    expect(reportOf('frequency-times').naive!(times)).toMatch(
      /1\/f\), it would need 2,160 MHz.*0\.9 % off.*5\.3 %/,
    );
  });

  it('names what the stability badge allows', () => {
    expect(reportOf('stability').sentence(stability, {})).toMatch(
      /^The profile is fair: use it for the hottest rows; 7\.9 % \(4\.8–13\.1\) of the samples/,
    );
  });

  it('has the places where samples and accounting agree', () => {
    expect(reportOf('cross-check').sentence(crossCheck, {})).toMatch(
      /^Samples and accounting agree in sim-fra/,
    );
  });

  it('of capacity without rates is the load, and says what is missing', () => {
    const report = reportOf('capacity');
    expect(report.because!(capacity)).toBeNull();
    expect(report.sentence(capacity, {})).toMatch(
      /^By APU the load is between \d+\.\d % \(.*\) and \d+\.\d % \(.*\) in the steps of this range\. With request/,
    );
    expect(report.chart(capacity)).toMatchObject({ kind: 'lines', over: 'time' });
    expect(report.missing!(capacity, LINKS, {}).map((r) => r.command)).toEqual([
      'FLEETPROF_PROMETHEUS_URL=http://HOST:9090 fleetprof report capacity --prometheus QUERY',
    ]);
  });
});

describe('what is missing', () => {
  it('for APU is one calibration for all platforms without a coefficient', () => {
    const [remedy, ...others] = remediesOf(common(apuUnknown), 'fleet');
    expect(others).toEqual([]);
    expect(remedy.command).toBe('fleetprof calibrate smt HOST');
    expect(remedy.text).toContain('AMD EPYC 7763 64-Core Processor, of Intel(R) Xeon(R) Platinum 8480+');
  });

  it('for frequencies is an event of the shown campaign, and the report that needs none', () => {
    expect(remediesOf(common(frequency), 'lab').map((r) => r.command)).toEqual([
      'fleetprof campaigns set lab --event cpu --event llc-misses',
    ]);
    expect(reportOf('frequency').missing!(frequency, LINKS, {})[0].link?.href).toBe('/reports/frequency-fit');
  });

  it('is not requested where machines cannot count', () => {
    expect(remediesOf(common(ratios), 'fleet')).toEqual([]);
  });
});

describe('what an answer rests on', () => {
  it('begins with the used profiles and has the reasons for the others', () => {
    const [inputs, ...rest] = basisOf(common(apuUnknown));
    expect(inputs).toMatch(/^0 of [\d,]+ profiles \(0 %\) of 1,000 machines/);
    expect(rest[0]).toMatch(/profiles left out: the overlap coefficient of AMD EPYC 7763/);
  });

  it('puts the counters that a platform misses into one line', () => {
    const lines = basisOf(common(ratios)).filter((text) => text.includes('Platinum 8480+'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('cycles, instructions missing in');
  });
});

describe('parameters', () => {
  const known = { application: ['a', 'b', 'c'], platform: ['p', 'q'] };

  it('do not collide with those of the selection', () => {
    const selection = ['event', 'from', 'to', 'select', 'campaign', 'measure', 'focus', 'hide'];
    for (const report of REPORT_LIST)
      for (const field of report.fields) expect(selection).not.toContain(field.name);
  });

  it('have a default that asks a question, for every kind', () => {
    expect(REPORT_LIST).toHaveLength(17);
    for (const report of REPORT_LIST) {
      const place = defaultsOf(pageOf(report).params) as Place;
      expect(valuesOf(report, place, known, 1_700_000_000_000).wanting, report.kind).toEqual([]);
    }
  });

  it('are beside the selection in the URL, and an empty one switches a default off', () => {
    const page = pageOf(reportOf('apu'));
    const address = linkTo(page, { from: 'now-7d' }, { coefficient: '', by: 'kernel' });
    expect(address).toBe('/reports/apu?from=now-7d&by=kernel&coefficient=');
    const place = parseParams(page.params, address.split('?')[1]) as Place;
    expect(formatParams(page.params, place)).toBe('?from=now-7d&by=kernel&coefficient=');
    expect(valuesOf(reportOf('apu'), place, known, 0).values).toEqual({ by: 'kernel' });
  });

  it('are wanted if the labels have no value for them', () => {
    const report = reportOf('side-by-side');
    const place = defaultsOf(pageOf(report).params) as Place;
    expect(valuesOf(report, place, { application: [], platform: ['p'] }, 0).wanting).toEqual([
      'Second platform',
    ]);
  });
});

describe('unknown request rates', () => {
  it('are one for each step that the range touches', () => {
    const day = { from: '2026-11-22T00:00:00Z', to: '2026-11-23T00:00:00Z' };
    expect(unknownRates(day, '1h').split(',')).toHaveLength(24);
    expect(unknownRates({ ...day, to: '2026-11-22T02:30:00Z' }, '1h').split(',')).toHaveLength(3);
    expect(unknownRates(day, '10m').split(',')).toHaveLength(144);
    expect(unknownRates(day, 'soon')).toBe('');
  });
});

describe('the command of a report', () => {
  const known = { application: ['feed', 'etl', 'auth'], platform: ['EPYC 7763', 'Xeon'] };
  const selection = {
    event: 'cpu',
    campaign: 'fleet',
    from: '2026-11-22T00:00:00Z',
    to: '2026-11-22T03:00:00Z',
    select: '{datacenter="fra"}',
  };
  const asked = (kind: string, own: Record<string, string> = {}): string | null => {
    const report = reportOf(kind);
    const place = { ...defaultsOf(pageOf(report).params), ...selection, ...own } as Place;
    const { values } = valuesOf(report, place, known, Date.parse(selection.to));
    return commandOf(report, { ...selection, ...values });
  };

  // tests/unit/services/commands/test_commands_of_pages.py parses the same commands.
  it('has the parameters of the page', () => {
    const found = Object.fromEntries(REPORT_LIST.map(({ kind }) => [kind, asked(kind)]));
    found['capacity with rates'] = asked('capacity', { rates: '812,,640' });
    found['affinity with pins'] = asked('affinity', { pinned: 'feed,etl', cautious: 'false' });
    found['load-test with filters'] = asked('load-test', { base_select: '{cluster="prod"}' });
    expect(found).toEqual(commands);
  });

  it('is missing where no command has the parameters', () => {
    expect(asked('capacity')).toBeNull();
    expect(asked('machine-types', { old_rates: '1,2' })).toBeNull();
  });
});

describe('what has no values', () => {
  it('is no chart', () => {
    const bars = { kind: 'bars', label: '', unit: { digits: String, suffix: '' }, series: ['a'] } as const;
    expect(drawable({ ...bars, rows: [{ name: 'x', values: [null] }] })).toBeNull();
    expect(
      drawable({ ...bars, rows: [{ name: 'x', values: [{ value: 0, lo: null, hi: null }] }] }),
    ).not.toBeNull();
  });

  it('is no column', () => {
    const c = columnsOf<{ name: string; n: number | null }>(LINKS);
    const columns = [c.text('name', (r) => r.name), c.count('n', (r) => r.n)];
    expect(filled(columns, [{ name: 'x', n: null }]).map((column) => column.name)).toEqual(['name']);
    expect(filled(columns, [{ name: 'x', n: 0 }])).toHaveLength(2);
  });
});
