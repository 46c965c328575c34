import { describe, expect, it } from 'vitest';
import { COMPARE } from '../../src/app/pages.ts';
import { defaultsOf } from '../../src/selection/params.ts';
import { remediesFor } from '../../src/ui/states/remedy.ts';
import { problem } from '../api/failed.ts';

const HOME = defaultsOf(COMPARE.params);
const PLACE = { ...HOME, select: '{application="x"}' };
const wrong = (parameter: string) => problem(400, { parameter });
const unknownCampaign = problem(404, { type: 'urn:fleetprof:problem:unknown-campaign' });
const changes = (...given: Parameters<typeof remediesFor>) => remediesFor(...given).map((r) => r.change);

describe('remediesFor', () => {
  it.each([
    ['focus', { focus: '' }],
    ['show_from', { show_from: '' }],
    ['from', { from: HOME.from, to: HOME.to }],
    ['event', { event: HOME.event }],
    ['select', { select: '' }],
  ])('takes away %s alone', (parameter, change) => {
    expect(changes(wrong(parameter), PLACE)).toEqual([change]);
  });

  it('leaves the matchers alone where the campaign is unknown', () => {
    for (const fault of [unknownCampaign, wrong('campaign')])
      expect(changes(fault, { ...PLACE, campaign: 'nightly' })).toEqual([{ campaign: HOME.campaign }]);
    const base = { ...PLACE, base_campaign: 'nightly' };
    expect(changes(unknownCampaign, base)).toEqual([{ base_campaign: HOME.campaign }]);
    expect(changes(unknownCampaign, PLACE)).toEqual([]);
  });

  it('offers a faster range where the query took too long', () => {
    const slow = problem(503, { type: 'urn:fleetprof:problem:too-slow' });
    expect(changes(slow, { ...PLACE, from: 'now-7d' })).toEqual([{ from: 'now-24h', to: 'now' }]);
    expect(changes(slow, PLACE)).toEqual([]);
  });

  it('offers nothing for a fault it does not know, or one that passes', () => {
    for (const parameter of ['', 'by', 'unit', 'limit']) expect(changes(wrong(parameter), PLACE)).toEqual([]);
    expect(changes(wrong('select'), HOME)).toEqual([]);
    expect(changes(problem(502, { parameter: 'select' }), PLACE)).toEqual([]);
    expect(changes(null, PLACE)).toEqual([]);
  });
});
