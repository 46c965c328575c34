import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// `npm run dev` serves the sources and passes API calls on to a running `fleetprof api`;
// `vite build` writes what the API serves and the wheel ships; `vite build --mode profile` one script and one style for
// the file of a recording (services/recording/profile_page.py), which has no server to load more from.
const PROFILE_PAGE = {
  rollupOptions: {
    input: 'profile.html',
    output: { entryFileNames: 'profile.js', assetFileNames: 'profile[extname]', codeSplitting: false },
  },
};

export default defineConfig(({ mode }) => ({
  plugins: [react()],
  build: {
    outDir: mode === 'profile' ? '../services/api/static/profile-page' : '../services/api/static',
    emptyOutDir: true,
    ...(mode === 'profile' ? PROFILE_PAGE : {}),
    target: 'es2022',
    // The first browsers with light-dark() and popovers; older targets would rewrite both badly.
    cssTarget: ['chrome123', 'firefox125', 'safari17.5'],
    // Every asset is a file of its own: data: URLs would need a wider Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: Object.fromEntries(['/api', '/login', '/logout'].map((path) => [path, 'http://127.0.0.1:8000'])),
  },
  // No test file leaves anything behind: a process for each of them took four times as long as all tests.
  test: { include: ['tests/**/*.test.ts'], environment: 'node', isolate: false, testTimeout: 60_000 },
}));
