import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { takeSession } from './api/session.ts';
import { retryDelay, retryPassing } from './api/useAnswer.ts';
import { App } from './app/App.tsx';
import { noticeSignedOut } from './app/signedOut.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/selection.css';
import './styles/page.css';
import './styles/cards.css';
import './styles/results.css';
import './styles/symbols.css';

await takeSession();

const client = new QueryClient({
  queryCache: new QueryCache({ onError: noticeSignedOut }),
  defaultOptions: {
    queries: { retry: retryPassing, retryDelay, refetchOnWindowFocus: false },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
