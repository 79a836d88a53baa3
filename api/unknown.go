package api

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api/internal/view"
)

// headerUnknown names the collections that a request for changes asks for and that are not there.
const headerUnknown = "Fanfold-Unknown-Collections"

// unknownCollections finds collections that are not there. A list of one is refused. Changes of one may be asked for before its first
// document, so an answer says that it is not there: most likely its name is mistyped.
type unknownCollections struct {
	views interface {
		Open(by *access.Rights) view.View
	}
}

// of returns those of some collections that are not there, and sets the header. Those that the sender does not read are passed over.
func (u *unknownCollections) of(c echo.Context, names []string) (unknown []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	err = u.views.Open(rightsOf(c)).Read(func(snap *view.Prefix) error {
		for _, name := range names {
			if rightsOf(c).CheckRead(name) != nil {
				continue
			}
			found, err := snap.HasCollection(name)
			if err != nil {
				return err
			}
			if !found {
				unknown = append(unknown, name)
			}
		}
		return nil
	})
	if len(unknown) > 0 {
		c.Response().Header().Set(headerUnknown, strings.Join(unknown, ","))
	}
	return unknown, err
}
