package house_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/fanfold/fanfold/api"
)

// TestToolchain: go.mod names a toolchain that may offer HTTP/2, and the image is built with that one.
func TestToolchain(t *testing.T) {
	for path, line := range map[string]string{"../../go.mod": `(?m)^toolchain (go\S+)$`, "../../Dockerfile": `(?m)^ENV GOTOOLCHAIN=(auto)$`} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(line).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s names no toolchain as %s", path, line)
			continue
		}
		if named := string(found[1]); named != "auto" && !api.OffersHTTP2(named) {
			t.Errorf("%s names %s, which may not offer HTTP/2", path, named)
		}
	}
}
