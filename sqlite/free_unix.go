//go:build linux || darwin || freebsd

package sqlite

import "syscall"

// Free returns how many bytes are free for this process where the generations are. known is false where the system does not say.
func (s *Store) Free() (bytes int64, known bool) {
	var on syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &on); err != nil {
		return 0, false
	}
	return int64(on.Bavail) * int64(on.Bsize), true //nolint:gosec,unconvert // no disk has so many; the types differ by system
}
