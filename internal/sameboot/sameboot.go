// Package sameboot says whether files are still those that a process of this run of the operating system wrote. A process that is killed
// loses nothing that the system has taken from it. Only the end of the system itself, or a copy, leaves a part of a file.
package sameboot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"
)

// Trace returns a text about files that stays the same while the operating system runs and the files stay where they are. The file still must
// not change either: a copy of the directory has another one. The other files may change, and are not replaced. Trace returns "" if the system
// or the file system does not say enough: then nothing is known.
func Trace(still string, others ...string) string {
	text := bootID()
	if text == "" {
		return ""
	}
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

// Still returns a text about files that stays the same while the operating system runs and nobody touches one of them: writes it, replaces it, or
// changes whose it is. It stays, too, where the disk itself gives other bytes back. Still returns "" if the system or the file system does not
// say enough. It waits for up to a step of the system's clock, so that what follows gets another time.
func Still(paths ...string) string {
	text := bootID()
	if text == "" {
		return ""
	}
	all, last := sha256.New(), int64(0)
	for _, path := range paths {
		id, changed, err := identify(path)
		if err != nil {
			return ""
		}
		last = max(last, changed)
		fmt.Fprintf(all, "%q %s %d\n", path, id, changed)
	}
	time.Sleep(min(clockStep, time.Until(time.Unix(0, last).Add(clockStep))))
	return text + ":" + hex.EncodeToString(all.Sum(nil))
}

// clockStep is more than a step of the clock by which the system says when a file was changed.
const clockStep = 20 * time.Millisecond

// bootID returns what the system calls this run of it, "" if it does not say.
func bootID() string {
	boot, err := os.ReadFile(bootFile)
	if err != nil || len(boot) > maxBoot {
		return ""
	}
	return strings.TrimSpace(string(boot))
}

// bootFile has what Linux draws by lot at each start; other systems have no such file.
const bootFile = "/proc/sys/kernel/random/boot_id"

// maxBoot bounds the bytes of bootFile.
const maxBoot = 100
