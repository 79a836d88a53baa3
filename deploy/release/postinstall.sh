#!/bin/sh
# Runs after the package's files are there, also after an upgrade.
set -e
getent passwd fanfold >/dev/null || useradd --system --user-group --home-dir /var/lib/fanfold --no-create-home --shell /usr/sbin/nologin fanfold
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart fanfold.service # one that runs goes on with the new program
fi
