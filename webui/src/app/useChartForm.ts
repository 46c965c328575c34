/** Whether the page's charts are drawn or are tables of the same numbers; part of the URL, for all charts of the page. */
import { useCallback } from 'react';
import { navigate, useSearch } from 'wouter/use-browser-location';
import { parseParams, readable } from '../selection/params.ts';
import { CHARTS } from './pages.ts';

export type ChartForm = (typeof CHART_FORMS)[number]['value'];

export const CHART_FORMS = [
  { value: 'chart', text: 'Chart' },
  { value: 'table', text: 'Table' },
] as const;

export function useChartForm(): [ChartForm, (form: ChartForm) => void] {
  const { charts } = parseParams(CHARTS, useSearch());
  const choose = useCallback((form: ChartForm) => {
    const query = new URLSearchParams(location.search);
    if (form === CHARTS.charts.initial) query.delete('charts');
    else query.set('charts', form);
    const next = readable(query);
    if (next !== location.search) navigate(location.pathname + next);
  }, []);
  return [charts, choose];
}
