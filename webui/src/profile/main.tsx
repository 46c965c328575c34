import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import '../styles/tokens.css';
import '../styles/base.css';
import '../styles/flame.css';
import '../styles/page.css';
import '../styles/cards.css';
import '../styles/results.css';
import './profile.css';
import { readProfile, type Profile } from './document.ts';
import { ProfilePage } from './ProfilePage.tsx';

const DARK = matchMedia('(prefers-color-scheme: dark)');

function Root({ profile }: { profile: Profile }) {
  const [dark, setDark] = useState(DARK.matches);
  useEffect(() => {
    const changed = (): void => setDark(DARK.matches);
    DARK.addEventListener('change', changed);
    return () => DARK.removeEventListener('change', changed);
  }, []);
  return <ProfilePage profile={profile} dark={dark} />;
}

const profile = readProfile(document.getElementById('profile')!);
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Root profile={profile} />
  </StrictMode>,
);
