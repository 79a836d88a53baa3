import type { Collection } from "fanfold"
import { useMemo, useSyncExternalStore } from "react"

/** doc is undefined until the store has answered, and null where there is none. */
export interface Watched<T> {
  doc?: T | null
  error?: unknown
}

/** useDocument gives a document as it is now, and renders again after each change. All documents of a client share one feed. */
export function useDocument<T>(collection: Collection<T>, id: string): Watched<T> {
  const watch = useMemo(() => {
    let state: Watched<T> = {}
    const subscribe = (render: () => void) => {
      const stop = new AbortController(), { signal } = stop
      const show = (next: Watched<T>) => signal.aborted || ((state = next), render())
      const follow = async () => {
        for await (const doc of collection.watch(id, { signal })) show({ doc })
      }
      follow().catch((error) => show({ error }))
      return () => stop.abort()
    }
    return { subscribe, get: () => state }
  }, [collection, id])
  return useSyncExternalStore(watch.subscribe, watch.get, watch.get)
}
