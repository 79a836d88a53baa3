// Package sameboot says whether files are still those that a process of this run of the operating system wrote. A process that is killed
// loses nothing that the system has taken from it. Only the end of the system itself, or a copy, leaves a part of a file.
package sameboot

import (
	"fmt"
	"os"
	"strings"
)

// Trace returns a text about files that stays the same while the operating system runs and the files stay where they are. The file still must
// not change either: a copy of the directory has another one. The other files may change, and are not replaced. Trace returns "" if the system
// or the file system does not say enough: then nothing is known.
func Trace(still string, others ...string) string {
	boot, err := os.ReadFile(bootFile)
	if err != nil || len(boot) == 0 || len(boot) > maxBoot {
		return ""
	}
	text := strings.TrimSpace(string(boot))
	for i, path := range append([]string{still}, others...) {
		id, changed, err := identify(path)
		if err != nil {
			return ""
		}
		if text += ":" + id; i == 0 {
			text += fmt.Sprint(":", changed)
		}
	}
	return text
}

// bootFile has what Linux draws by lot at each start; other systems have no such file.
const bootFile = "/proc/sys/kernel/random/boot_id"

// maxBoot bounds the bytes of bootFile.
const maxBoot = 100
