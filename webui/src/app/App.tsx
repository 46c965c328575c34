/** The pages by their paths. Each page is a chunk of its own, which the browser fetches when it is opened. */
import { lazy, Suspense, useEffect, type ComponentType } from 'react';
import { Route, Switch } from 'wouter';
import { navigate, usePathname } from 'wouter/use-browser-location';
import { AsOfProvider } from './asOf.tsx';
import { formerAddress } from './formerAddress.ts';
import { NoPage } from './NoPage.tsx';
import * as pages from './pages.ts';
import type { PageOf } from './pages.ts';
import { PageFailure } from './PageFailure.tsx';
import { Shell } from './Shell.tsx';

const ROUTES: readonly { page: PageOf; Component: ComponentType }[] = [
  route(pages.HOME, async () => (await import('../pages/home/HomePage.tsx')).HomePage),
  route(pages.EXPLORE, async () => (await import('../pages/explore/ExplorePage.tsx')).ExplorePage),
  route(pages.SERVICE, async () => (await import('../pages/service/ServicePage.tsx')).ServicePage),
  route(pages.RELEASES, async () => (await import('../pages/releases/ReleasesPage.tsx')).ReleasesPage),
  route(pages.RELEASE, async () => (await import('../pages/releases/ReleasePage.tsx')).ReleasePage),
  route(pages.CHANGES, async () => (await import('../pages/changes/ChangesPage.tsx')).ChangesPage),
  route(pages.COMPARE, async () => (await import('../pages/compare/ComparePage.tsx')).ComparePage),
  route(
    pages.RELIABILITY,
    async () => (await import('../pages/reliability/ReliabilityPage.tsx')).ReliabilityPage,
  ),
  route(pages.FUNCTION, async () => (await import('../pages/fn/FunctionPage.tsx')).FunctionPage),
  route(pages.GRAPH, async () => (await import('../pages/graph/GraphPage.tsx')).GraphPage),
  route(pages.ASM, async () => (await import('../pages/asm/AsmPage.tsx')).AsmPage),
  route(pages.SOURCE, async () => (await import('../pages/source/SourcePage.tsx')).SourcePage),
  route(pages.REPORTS, async () => (await import('../pages/reports/ReportsPage.tsx')).ReportsPage),
  route(pages.REPORT, async () => (await import('../pages/reports/ReportPage.tsx')).ReportPage),
  route(
    pages.SHARED_CODE,
    async () => (await import('../pages/shared-code/SharedCodePage.tsx')).SharedCodePage,
  ),
  route(pages.MACHINES, async () => (await import('../pages/machines/MachinesPage.tsx')).MachinesPage),
  route(pages.MACHINE, async () => (await import('../pages/machine/MachinePage.tsx')).MachinePage),
  route(pages.CAMPAIGNS, async () => (await import('../pages/campaigns/CampaignsPage.tsx')).CampaignsPage),
  route(pages.STATUS, async () => (await import('../pages/status/StatusPage.tsx')).StatusPage),
  route(pages.SETTINGS, async () => (await import('../pages/settings/SettingsPage.tsx')).SettingsPage),
  route(pages.SYMBOLS, async () => (await import('../pages/symbols/SymbolsPage.tsx')).SymbolsPage),
];

function route(page: PageOf, load: () => Promise<ComponentType>): { page: PageOf; Component: ComponentType } {
  return { page, Component: lazy(async () => ({ default: await load() })) };
}

export function App() {
  const path = usePathname();
  const former = formerAddress(path, location.search);
  useEffect(() => {
    if (former !== null) navigate(former, { replace: true });
  }, [former]);
  if (former !== null) return null;
  return (
    <AsOfProvider>
      <Shell>
        <PageFailure key={path}>
          <Suspense fallback={<main id="main" className="page-loading" aria-busy="true" />}>
            <Switch>
              {ROUTES.map(({ page, Component }) => (
                <Route key={page.path} path={page.path} component={Component} />
              ))}
              <Route component={NoPage} />
            </Switch>
          </Suspense>
        </PageFailure>
      </Shell>
    </AsOfProvider>
  );
}
