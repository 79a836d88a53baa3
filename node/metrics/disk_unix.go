//go:build linux || darwin || freebsd

package metrics

import "syscall"

// freeAt returns how many bytes of a directory's disk are free for this process. known is false where the system does not say.
func freeAt(dir string) (bytes float64, known bool) {
	var on syscall.Statfs_t
	if err := syscall.Statfs(dir, &on); err != nil {
		return 0, false
	}
	return float64(on.Bavail) * float64(on.Bsize), true
}
