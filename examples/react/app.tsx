import { Fanfold } from "fanfold"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { useDocument } from "./useDocument"

interface Book { title: string; year?: number }

const books = new Fanfold("http://127.0.0.1:8080").collection<Book>("books")

function BookView({ id }: { id: string }) {
  const { doc, error } = useDocument(books, id)
  if (error) return <p role="alert">{String(error)}</p>
  if (doc === undefined) return <p>One moment</p>
  if (doc === null) return <p>There is no book {id}</p>
  return <p>{doc.title}, {doc.year} <button onClick={() => books.patch(id, { year: (doc.year ?? 1872) + 1 })}>One year later</button></p>
}

createRoot(document.getElementById("root")!).render(<StrictMode><BookView id="b1" /></StrictMode>)
