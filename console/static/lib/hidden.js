import { useEffect, useState } from './html.js';

/** Tells whether the tab is hidden, as long as a component is on the page. */
export function useHidden() {
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const look = () => setHidden(document.hidden);
    look();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return hidden;
}
