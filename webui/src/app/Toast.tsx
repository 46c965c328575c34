/** Short messages at the bottom of the window: `const say = useToast()`. */
import { createContext, use, useEffect, useState, type ReactNode } from 'react';

const Context = createContext<(text: string) => void>(() => undefined);

export function useToast(): (text: string) => void {
  return use(Context);
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const [text, say] = useState('');
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => say(''), text.length > 60 ? 15_000 : 3_000);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <Context value={say}>
      {children}
      <div className={text === '' ? 'toast' : 'toast on'} role="status">
        {text}
      </div>
    </Context>
  );
}
