package model_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// TestNamesWithoutCase: a declared name is written as it is declared. Of others, those with capitals are refused, and those that differ from
// a declared one by case alone.
func TestNamesWithoutCase(t *testing.T) {
	m, err := modelfile.Parse([]byte("collections: {Orders: {}, line_Items: {}, notes: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Orders": "", "line_Items": "", "notes": "", "others": "", "order": "",
		"orders": `declares "Orders"`, "ORDERS": `declares "Orders"`, "line_items": `declares "line_Items"`, "Notes": `declares "notes"`, "Others": "as Others: {}",
	} {
		err := m.CheckWritable(name)
		if want == "" && err != nil || want != "" && (fanfold.CodeOf(err) != fanfold.UnknownCollection || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := model.Empty().CheckWritable("Orders"); fanfold.CodeOf(err) != fanfold.UnknownCollection {
		t.Errorf("without a model Orders is answered %v", err)
	}
	for to, want := range map[string]bool{
		"collections: {Orders: {unique: [a]}, line_Items: {}, others: {}}": false,
		"collections: {Orders: {}, notes: {}}":                             true,
		"collections: {Orders: {}, line_Items: {}, Notes: {}}":             true,
		"collections: {orders: {}, line_Items: {}, notes: {}}":             true,
	} {
		next, err := modelfile.Parse([]byte(to))
		if err != nil {
			t.Fatal(err)
		}
		c := model.Compare(m, next)
		if c.ChangesCapitals() != want || want && !c.AddsGuards() {
			t.Errorf("%s changes names with capitals: %v", to, c.ChangesCapitals())
		}
	}
}
