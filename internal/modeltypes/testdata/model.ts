// Made by fanfold model types. Do not change it: make it again.

/** A document of authors. */
export interface Authors {
  name: string;
  born?: number | null;
  style?: "terse" | "florid" | 3 | null;
  address?: {
    city: string;
    "post code"?: string;
  };
  tags?: (string | number)[];
  id?: string;
  readonly bookIds?: string[];
  readonly countOfBooks?: number;
  readonly earned?: number;
  readonly newest?: {
    readonly title?: string;
    readonly year?: unknown;
  }[];
}

/** A document of books. */
export interface Books {
  title?: string;
  price?: number;
  authors?: {
    role?: "editor";
    id?: string;
    readonly city?: string;
    readonly initial?: unknown;
    readonly name?: string;
  }[];
  id?: string;
  publisherId?: string;
  readonly publisherName?: unknown;
  readonly twice?: unknown;
}

/** A document of lists. */
export interface Lists {
  id?: string;
  memberIds?: string[];
  readonly names?: string[];
  [member: string]: unknown;
}

/** A document of pub-houses. */
export interface PubHouses {
  id?: string;
  [member: string]: unknown;
}

export interface Models {
  authors: Authors;
  books: Books;
  lists: Lists;
  "pub-houses": PubHouses;
}
