/** Whether a new machine type is worth its price. */
import { figure, write, NUMBER, RATIO, SHARE } from '../../../views/chart/quantity.ts';
import { all, shortPlatform } from '../phrases.ts';
import { platformField, table, type Report, type Schemas } from '../report.ts';
import { COEFFICIENT, assumedOf, calibration } from './coefficient.ts';

export const MACHINE_TYPES: Report<Schemas['MachineTypesAnswer']> = {
  kind: 'machine-types',
  group: 'Capacity',
  title: 'Machine types',
  question: 'Is a new machine type worth its price?',
  needs: 'Both platforms in the selection, their prices, and overlap coefficients.',
  explain:
    'At equal load, the ratio of the loads is the number of old machines that one new machine replaces. The new type pays off if that ratio exceeds the ratio of the prices. Utilisation and APU may disagree, because the types use their second threads differently; then a stress test must decide.',
  section: 'Cores with two threads: APU',
  route: '/api/v1/analysis/machine-types',
  fields: [
    platformField('old', 'Old platform', 0),
    platformField('new', 'New platform', 1),
    {
      name: 'old_price',
      label: 'Old price',
      help: 'Of a machine, in any currency.',
      initial: '1',
      required: true,
    },
    { name: 'new_price', label: 'New price', help: 'In the same currency.', initial: '1', required: true },
    COEFFICIENT,
    {
      name: 'old_rates',
      advanced: true,
      label: 'Old request rates',
      help: 'Requests per second of one machine by step. Empty: equal traffic is assumed.',
      initial: '',
      words: null,
    },
    {
      name: 'new_rates',
      advanced: true,
      label: 'New request rates',
      help: 'Likewise, for the new type.',
      initial: '',
      words: null,
    },
  ],
  sentence({ apu_ratio, price_ratio, by_apu, stress_test, rows }, used) {
    if (!apu_ratio) return 'There is no figure by APU.';
    const [old, fresh] = rows.map((r) => shortPlatform(r.platform));
    const verdict =
      by_apu === 'unclear'
        ? 'the interval contains the ratio of the prices, so it is unclear which type is cheaper'
        : `the ${by_apu} type costs less for the same work`;
    return `By APU, one ${fresh ?? 'new machine'} replaces ${figure(apu_ratio, RATIO)} of ${old ?? 'the old type'} at ${write(price_ratio ?? 1, RATIO)} times the price: ${verdict}.${stress_test ? ' A stress test must decide.' : ''}${assumedOf(used)}`;
  },
  naive: ({ utilisation_ratio, by_utilisation }) =>
    utilisation_ratio
      ? `CPU utilisation says ${figure(utilisation_ratio, RATIO)}: ${by_utilisation === 'unclear' ? 'unclear' : `the ${by_utilisation} type`}.`
      : null,
  chart: ({ rows }) =>
    rows.length === 0
      ? null
      : {
          kind: 'bars',
          label: 'Load of each type',
          unit: SHARE,
          series: ['APU', 'CPU utilisation'],
          rows: rows.map((r) => ({ name: shortPlatform(r.platform), values: [r.apu, r.utilisation] })),
        },
  tables: ({ rows }) => [
    table({
      label: 'The two types',
      rows,
      keyOf: (r) => r.platform,
      columns: (c) => [
        c.platform('platform', (r) => r.platform),
        c.number('price', (r) => r.price, NUMBER),
        c.figure('APU', (r) => r.apu, SHARE),
        c.figure('utilisation', (r) => r.utilisation, SHARE),
        c.figure('requests/s by APU', (r) => r.by_apu?.rate ?? null, NUMBER),
        c.figure('requests/s by utilisation', (r) => r.by_utilisation?.rate ?? null, NUMBER),
        c.count('profiles', (r) => r.visits),
        c.count('machines', (r) => r.machines),
      ],
    }),
  ],
  missing: (answer, _links, used) => calibration(answer, used),
  assumptions: ({ basis, apu_basis, apu_because, utilisation_because }) => [
    basis === 'equal_traffic'
      ? 'Both types are assumed to get equally many requests per machine.'
      : 'The types are compared at equal load by their request rates.',
    ...(apu_basis
      ? [`APU is by ${all([apu_basis === 'counters' ? 'cycle counters' : 'the operating systems’ times'])}.`]
      : []),
    ...[apu_because, utilisation_because].flatMap((because) => (because ? [because.detail] : [])),
  ],
};
