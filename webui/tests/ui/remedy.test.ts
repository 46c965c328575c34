import { describe, expect, it } from 'vitest';
import { problemOf } from '../../src/api/problem.ts';
import { HOME, type Place } from '../../src/selection/place.ts';
import { remedyFor } from '../../src/ui/states/remedy.ts';

const PLACE: Place = { ...HOME, select: '{application="x"}' };
const wrong = (parameter: string) => problemOf(400, null, { parameter });
const unknownCampaign = problemOf(404, null, { type: 'urn:fleetprof:problem:unknown-campaign' });

describe('remedyFor', () => {
  it.each([
    ['focus', { focus: '' }],
    ['show_from', { show_from: '' }],
    ['from', { from: HOME.from, to: HOME.to }],
    ['event', { event: HOME.event }],
    ['select', { select: '' }],
  ])('takes away %s alone', (parameter, change) => {
    expect(remedyFor(wrong(parameter), PLACE)?.change).toEqual(change);
  });

  it('leaves the matchers alone where the campaign is unknown', () => {
    const change = { campaign: HOME.campaign };
    for (const problem of [unknownCampaign, wrong('campaign')])
      expect(remedyFor(problem, { ...PLACE, campaign: 'nightly' })?.change).toEqual(change);
    const base = { ...PLACE, base_campaign: 'nightly' };
    expect(remedyFor(unknownCampaign, { ...base, view: 'diff' })?.change).toEqual({
      base_campaign: HOME.campaign,
    });
    expect(remedyFor(unknownCampaign, base)).toBeNull();
    expect(remedyFor(unknownCampaign, PLACE)).toBeNull();
  });

  it('offers nothing for a fault it does not know, or one that passes', () => {
    for (const parameter of ['', 'by', 'unit', 'limit'])
      expect(remedyFor(wrong(parameter), PLACE)).toBeNull();
    expect(remedyFor(wrong('select'), HOME)).toBeNull();
    expect(remedyFor(problemOf(503, null, { parameter: 'select' }), PLACE)).toBeNull();
    expect(remedyFor(null, PLACE)).toBeNull();
  });
});
