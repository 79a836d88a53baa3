package sqlcopy

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// table is the table of one collection.
type table struct {
	collection, name string
	made             bool
	sample           [][]byte // the first documents, until the table is made
	bytes            int      // of the sample
	columns          map[string]int
	insert           string // the statement
	values           []driver.Value
	relations        []relation
}

// relation is a relation of a collection, with its table and the statement that adds to it.
type relation struct {
	*model.Relation
	table, insert string
}

// newTable returns the table of a collection that had none. It is made later.
func (c *copier) newTable(collection string) *table {
	tab := &table{collection: collection, name: c.names.take(collection)}
	c.tables[collection] = tab
	c.order = append(c.order, tab)
	return tab
}

// make makes a table, with a column for each member of the sample, and adds the sample to it.
func (c *copier) make(tab *table) error {
	tab.made, tab.columns = true, map[string]int{}
	members := []string{}
	var tree jsondoc.Tree
	for _, body := range tab.sample {
		if err := tree.Parse(body); err != nil {
			return err
		}
		for n := tree.First(jsondoc.Root); n != jsondoc.None; n = tree.Next(n) {
			if key := tree.Key(n); key != "id" && tab.columns[key] == 0 && len(members) < maxColumns-2 {
				members = append(members, key)
				tab.columns[key] = len(members)
			}
		}
	}
	own := names{}
	own.take("id")
	own.take("body")
	create, marks := "CREATE TABLE "+quote(tab.name)+" (id TEXT PRIMARY KEY", "?"
	var columns []string
	for _, member := range members {
		column := own.take(member)
		columns = append(columns, column)
		create += ", " + quote(column) // without a type, so that a value stays what it is
		marks += ", ?"
	}
	if err := c.conn.Exec(create + ", body TEXT)"); err != nil {
		return err
	}
	for i, member := range members {
		if err := c.conn.Exec("INSERT INTO "+tableColumns+" VALUES (?, ?, ?, ?)", tab.name, columns[i], tab.collection, member); err != nil {
			return err
		}
	}
	tab.insert, tab.values = "INSERT INTO "+quote(tab.name)+" VALUES ("+marks+", ?)", make([]driver.Value, len(members)+2)
	if err := c.makeRelations(tab); err != nil {
		return err
	}
	for _, body := range tab.sample {
		if err := c.insert(tab, body); err != nil {
			return err
		}
	}
	c.held -= tab.bytes
	tab.sample, tab.bytes = nil, 0
	return nil
}

// makeRelations makes a table for each relation whose ids stand in documents of the collection as they were written.
func (c *copier) makeRelations(tab *table) error {
	if c.model == nil || c.model.Collection(tab.collection) == nil {
		return nil
	}
	for _, r := range c.model.Collection(tab.collection).Relations {
		if r.Derived() {
			continue
		}
		rel := relation{Relation: r, table: c.names.take(tab.collection + "_" + r.Name)}
		if err := c.conn.Exec("CREATE TABLE " + quote(rel.table) + " (id TEXT, place INTEGER, target TEXT)"); err != nil {
			return err
		}
		if err := c.conn.Exec("INSERT INTO "+tableRelations+" VALUES (?, ?, ?, ?, ?)", rel.table, tab.collection, r.Name, r.Path.String(), r.To); err != nil {
			return err
		}
		rel.insert = "INSERT INTO " + quote(rel.table) + " VALUES (?, ?, ?)"
		tab.relations = append(tab.relations, rel)
	}
	return nil
}

// insert adds a document to its table, and its targets to the tables of the relations.
func (c *copier) insert(tab *table, body []byte) error {
	var t jsondoc.Tree
	if err := t.Parse(body); err != nil {
		return err
	}
	clear(tab.values)
	id, columnless := "", int64(0)
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		switch key := t.Key(n); {
		case key == "id":
			id = t.Text(n)
		case tab.columns[key] == 0:
			columnless = 1
		default:
			tab.values[tab.columns[key]] = valueOf(&t, n)
		}
	}
	c.counts.Columnless += columnless
	tab.values[0], tab.values[len(tab.values)-1] = id, driver.Text(body)
	if err := c.conn.Exec(tab.insert, tab.values...); err != nil {
		return err
	}
	for _, rel := range tab.relations {
		for i, target := range rel.Targets(&t) {
			if err := c.conn.Exec(rel.insert, id, int64(i), target); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueOf returns a member's value as SQLite takes it: true and false as 1 and 0, arrays and objects as their JSON, numbers exactly.
func valueOf(t *jsondoc.Tree, n jsondoc.Node) driver.Value {
	switch t.Kind(n) {
	case jsondoc.Null:
		return nil
	case jsondoc.True:
		return int64(1)
	case jsondoc.False:
		return int64(0)
	case jsondoc.Number:
		return numberOf(t.Text(n))
	case jsondoc.String:
		return t.Text(n)
	}
	return driver.Text(t.Raw(n))
}

// numberOf returns a number as an integer or a double where one holds it, and otherwise as its text. A double holds a number that is printed of it.
func numberOf(text string) driver.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	exact, err := decimal.ParseExact(text)
	if err != nil {
		return text
	}
	held, err := decimal.ParseExact(strconv.FormatFloat(f, 'g', -1, 64))
	if err != nil || exact.Sign() != held.Sign() {
		return text
	}
	digits, exponent := exact.Digits()
	if d, e := held.Digits(); d != digits || e != exponent {
		return text
	}
	return f
}

// names are those that are taken, in small letters: SQLite does not tell them apart by case.
type names map[string]bool

// take returns a name that is not taken, as much like the wanted one as SQLite takes, and takes it.
func (all names) take(wanted string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, wanted)
	for len(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name == "" || strings.HasPrefix(strings.ToLower(name), "sqlite_") { // which SQLite keeps for itself
		name = "_" + name
	}
	unique := name
	for i := 2; all[strings.ToLower(unique)]; i++ {
		unique = name + "_" + strconv.Itoa(i)
	}
	all[strings.ToLower(unique)] = true
	return unique
}

// quote returns a name as SQL takes it.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
