import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { retryPassing } from './api/queries.ts';
import { takeSession } from './api/session.ts';
import { SYMBOLS_PATH } from './symbols/place.ts';
import { SymbolsPage } from './symbols/SymbolsPage.tsx';
import { App } from './ui/App.tsx';
import { NoPage } from './ui/states/NoPage.tsx';
import './styles/tokens.css';
import './styles/base.css';
import './styles/page.css';
import './styles/results.css';
import './styles/symbols.css';

await takeSession();

const client = new QueryClient({
  defaultOptions: {
    queries: {
      retry: retryPassing,
      retryDelay: (failures) => 500 * 2 ** failures,
      refetchOnWindowFocus: false,
    },
  },
});

function page(path: string) {
  if (path === '') return <App />;
  return path === SYMBOLS_PATH ? <SymbolsPage /> : <NoPage />;
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>{page(location.pathname.replace(/\/$/, ''))}</QueryClientProvider>
  </StrictMode>,
);
